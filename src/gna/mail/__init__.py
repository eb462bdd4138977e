"""What an email is: addresses, contents with merge slots, and the bytes that leave."""
