"""Reading a feed of any format and age: bytes in, plain text and whole addresses out. Strangers wrote it."""
