/* An SMTP server that takes every mail as fast as it can, counts it and throws it away.
 *
 *     sink PORT THREADS [DELAY_MS] [PIPELINING] [LOG_FILE]
 *
 * It is there to measure senders, so it must never be what they wait for. DELAY_MS is how long an answer waits before
 * it leaves, as if the server were far away; 0 is at once. PIPELINING 0 does not offer it, so that a sender waits for
 * each answer. With LOG_FILE, a line "<Message-ID> recipient" is in the file before the mail is accepted: whatever
 * becomes of the sender, the file says which mails it got rid of.
 *
 * SIGUSR1 prints "mails=… bytes=… connections=…"; SIGTERM prints it too, and ends. Only accepted mails count; their
 * bytes are all that came between the answer to DATA and the next command.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define READ_SIZE (256 * 1024) /* several mails at once */
#define LINE_SIZE 2048         /* RFC 5321 allows 512 for a command */
#define HEAD_SIZE (8 * 1024)   /* where a Message-ID is looked for */
#define EVENTS 256
#define MOST_THREADS 64

#define END "\r\n.\r\n"
#define END_SIZE 5
#define TAIL_SIZE (END_SIZE - 1) /* as much of the end as one read can leave to the next */

/* Bytes that grow. */
struct text {
    char *bytes;
    size_t size, room;
};

struct connection {
    int socket;
    struct worker *worker;
    TAILQ_ENTRY(connection) waits; /* in its worker's queue, while `due` is not 0 */
    double due;
    struct text answers; /* not sent yet */
    int full;            /* the client does not read its answers, so nothing is read from it either */
    int quits;

    char line[LINE_SIZE]; /* the beginning of a command whose end has not come yet */
    size_t line_size;
    struct text recipients; /* each with a line end */

    int in_content;
    long content_size;
    char tail[TAIL_SIZE];     /* the last bytes of the content so far */
    char head[HEAD_SIZE + 1]; /* its first bytes, kept only for a log */
    size_t head_size;
};

/* A thread, and the connections that are dealt to it. */
struct worker {
    int epoll;
    char *buffer;
    TAILQ_HEAD(, connection) waiting; /* the delay is the same for all, so the first is due first */
};

static double delay;
static int pipelining = 1;
static int log_file = -1;
static atomic_long mails, bytes, connections;
static struct worker workers[MOST_THREADS];

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void append(struct text *text, const char *more, size_t size)
{
    if (text->size + size > text->room) {
        text->room = 2 * (text->size + size);
        text->bytes = realloc(text->bytes, text->room);
        if (!text->bytes)
            die("memory");
    }
    memcpy(text->bytes + text->size, more, size);
    text->size += size;
}

static void answer(struct connection *client, const char *line)
{
    append(&client->answers, line, strlen(line));
}

/* ---- The log ---- */

/* The value of the Message-ID header among the first bytes of a mail, and its size; "-" if there is none. */
static const char *message_id(struct connection *client, size_t *size)
{
    static const char name[] = "message-id:", white[] = " \t\r\n"; /* the value may be on the next line */
    const char *line = client->head;
    client->head[client->head_size] = 0;
    while (line && *line != '\r' && strncasecmp(line, name, strlen(name)))
        line = (line = strchr(line, '\n')) ? line + 1 : NULL;
    if (line && *line != '\r') {
        line += strlen(name);
        line += strspn(line, white);
        if ((*size = strcspn(line, white)))
            return line;
    }
    *size = 1;
    return "-";
}

/* One line for each recipient, in one write: with O_APPEND nothing comes in between, and nothing is left to lose. */
static void write_log(struct connection *client)
{
    struct text lines = {0};
    size_t size;
    const char *id = message_id(client, &size);
    const char *recipient = client->recipients.bytes, *end = recipient + client->recipients.size;
    while (recipient < end) {
        const char *next = (const char *)memchr(recipient, '\n', end - recipient) + 1;
        append(&lines, id, size);
        append(&lines, " ", 1);
        append(&lines, recipient, next - recipient);
        recipient = next;
    }
    if (write(log_file, lines.bytes, lines.size) != (ssize_t)lines.size)
        die("log file");
    free(lines.bytes);
}

/* ---- The dialogue ---- */

static void add_recipient(struct connection *client)
{
    const char *from = strchr(client->line, '<'), *to = strrchr(client->line, '>');
    if (!from || !to || to < from) {
        answer(client, "501 5.1.3 An address in <> is needed\r\n");
        return;
    }
    append(&client->recipients, from + 1, to - from - 1);
    append(&client->recipients, "\n", 1);
    answer(client, "250 2.1.5 Ok\r\n");
}

static void begin_content(struct connection *client)
{
    if (!client->recipients.size) {
        answer(client, "503 5.5.1 Nobody to send to\r\n");
        return;
    }
    client->in_content = 1;
    client->content_size = 0;
    client->head_size = 0;
    /* The line end of DATA counts: a lone dot right after it ends an empty mail. */
    memcpy(client->tail, "\0\0\r\n", TAIL_SIZE);
    answer(client, "354 End with a dot on a line of its own\r\n");
}

static void accept_mail(struct connection *client)
{
    if (log_file >= 0)
        write_log(client);
    atomic_fetch_add(&mails, 1);
    atomic_fetch_add(&bytes, client->content_size);
    client->in_content = 0;
    client->recipients.size = 0;
    answer(client, "250 2.0.0 Ok\r\n");
}

static void obey(struct connection *client)
{
    const char *line = client->line;
    if (!strncasecmp(line, "MAIL", 4) || !strncasecmp(line, "RSET", 4)) {
        client->recipients.size = 0;
        answer(client, "250 2.1.0 Ok\r\n");
    } else if (!strncasecmp(line, "RCPT", 4)) {
        add_recipient(client);
    } else if (!strncasecmp(line, "DATA", 4)) {
        begin_content(client);
    } else if (!strncasecmp(line, "EHLO", 4)) {
        answer(client, pipelining ? "250-sink\r\n250-PIPELINING\r\n" : "250-sink\r\n");
        answer(client, "250-8BITMIME\r\n250 ENHANCEDSTATUSCODES\r\n");
    } else if (!strncasecmp(line, "HELO", 4) || !strncasecmp(line, "NOOP", 4)) {
        answer(client, "250 sink\r\n");
    } else if (!strncasecmp(line, "QUIT", 4)) {
        client->quits = 1;
        answer(client, "221 2.0.0 Bye\r\n");
    } else {
        answer(client, "500 5.5.2 Not a command of this server\r\n");
    }
}

/* Take one command, or the beginning of one, and return how many bytes that was. */
static size_t take_command(struct connection *client, const char *data, size_t size)
{
    const char *end = memchr(data, '\n', size);
    size_t taken = end ? (size_t)(end - data) + 1 : size;
    /* What does not fit is dropped. An address that is cut has no '>' and is refused. */
    size_t fits = LINE_SIZE - 1 - client->line_size;
    if (fits > taken)
        fits = taken;
    memcpy(client->line + client->line_size, data, fits);
    client->line_size += fits;
    if (end) {
        client->line[client->line_size] = 0;
        client->line_size = 0;
        obey(client);
    }
    return taken;
}

/* Return how many bytes are left of the content that goes on in `data`, its end included; 0 if the end is not there. */
static size_t rest_of_content(const struct connection *client, const char *data, size_t size)
{
    /* The end may have begun in an earlier read. */
    char seam[2 * TAIL_SIZE];
    size_t some = size < TAIL_SIZE ? size : TAIL_SIZE;
    memcpy(seam, client->tail, TAIL_SIZE);
    memcpy(seam + TAIL_SIZE, data, some);
    const char *end = memmem(seam, TAIL_SIZE + some, END, END_SIZE);
    if (end)
        return end - seam + END_SIZE - TAIL_SIZE;
    end = memmem(data, size, END, END_SIZE);
    return end ? end - data + END_SIZE : 0;
}

static void keep_tail(struct connection *client, const char *data, size_t size)
{
    if (size >= TAIL_SIZE) {
        memcpy(client->tail, data + size - TAIL_SIZE, TAIL_SIZE);
        return;
    }
    memmove(client->tail, client->tail + size, TAIL_SIZE - size);
    memcpy(client->tail + TAIL_SIZE - size, data, size);
}

static void keep_head(struct connection *client, const char *data, size_t size)
{
    size_t room = HEAD_SIZE - client->head_size, some = size < room ? size : room;
    memcpy(client->head + client->head_size, data, some);
    client->head_size += some;
}

/* Take content up to its end, and return how many bytes that was. */
static size_t take_content(struct connection *client, const char *data, size_t size)
{
    size_t rest = rest_of_content(client, data, size), taken = rest ? rest : size;
    client->content_size += taken;
    if (log_file >= 0)
        keep_head(client, data, taken);
    if (rest)
        accept_mail(client);
    else
        keep_tail(client, data, size);
    return taken;
}

/* ---- The network ---- */

static void hang_up(struct connection *client)
{
    if (client->due)
        TAILQ_REMOVE(&client->worker->waiting, client, waits);
    close(client->socket);
    free(client->answers.bytes);
    free(client->recipients.bytes);
    free(client);
}

static void listen_for(struct connection *client, uint32_t events, int how)
{
    struct epoll_event event = {.events = events, .data.ptr = client};
    if (epoll_ctl(client->worker->epoll, how, client->socket, &event))
        die("epoll_ctl");
}

static void send_answers(struct connection *client)
{
    struct text *answers = &client->answers;
    ssize_t sent = send(client->socket, answers->bytes, answers->size, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) {
        hang_up(client);
        return;
    }
    if (sent > 0) {
        answers->size -= sent;
        memmove(answers->bytes, answers->bytes + sent, answers->size);
    }
    if (client->quits && !answers->size) {
        hang_up(client);
        return;
    }
    if (client->full != (answers->size > 0)) {
        client->full = !client->full;
        listen_for(client, client->full ? EPOLLOUT : EPOLLIN, EPOLL_CTL_MOD);
    }
}

/* Answers to what comes in the meantime leave together with the first. */
static void answer_later(struct connection *client)
{
    if (client->due)
        return;
    client->due = now() + delay;
    TAILQ_INSERT_TAIL(&client->worker->waiting, client, waits);
}

static void receive(struct connection *client)
{
    char *data = client->worker->buffer;
    ssize_t size = read(client->socket, data, READ_SIZE);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0) {
        hang_up(client);
        return;
    }
    for (char *end = data + size; data < end && !client->quits;)
        data += client->in_content ? take_content(client, data, end - data) : take_command(client, data, end - data);
    if (!client->answers.size)
        return;
    if (delay)
        answer_later(client);
    else
        send_answers(client);
}

static void send_what_is_due(struct worker *worker)
{
    struct connection *client;
    while ((client = TAILQ_FIRST(&worker->waiting)) && client->due <= now()) {
        TAILQ_REMOVE(&worker->waiting, client, waits);
        client->due = 0;
        send_answers(client);
    }
}

static int milliseconds_to_wait(const struct worker *worker)
{
    const struct connection *first = TAILQ_FIRST(&worker->waiting);
    if (!first)
        return -1;
    double left = first->due - now();
    return left > 0 ? (int)(left * 1000) + 1 : 0;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct epoll_event events[EVENTS];
    for (;;) {
        int count = epoll_wait(worker->epoll, events, EVENTS, milliseconds_to_wait(worker));
        for (int i = 0; i < count; i++) {
            struct connection *client = events[i].data.ptr;
            if (client->full)
                send_answers(client);
            else
                receive(client);
        }
        send_what_is_due(worker);
    }
    return NULL;
}

static void welcome(int socket, struct worker *worker)
{
    struct connection *client = calloc(1, sizeof *client);
    if (!client)
        die("memory");
    int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    client->socket = socket;
    client->worker = worker;
    atomic_fetch_add(&connections, 1);
    static const char greeting[] = "220 sink ESMTP\r\n";
    send(socket, greeting, sizeof greeting - 1, MSG_NOSIGNAL); /* fits; a client that has gone is seen by the worker */
    listen_for(client, EPOLLIN, EPOLL_CTL_ADD);
}

static int listen_on(int port)
{
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096))
        die("port");
    return listener;
}

struct reception {
    int listener, threads;
};

/* In turn. SO_REUSEPORT draws lots instead: of few connections one thread may get most, and a run is slow by chance. */
static void *deal_out(void *argument)
{
    struct reception *reception = argument;
    for (unsigned number = 0;; number++) {
        int socket = accept4(reception->listener, NULL, NULL, SOCK_NONBLOCK);
        if (socket >= 0)
            welcome(socket, &workers[number % reception->threads]);
        else if (errno != ECONNABORTED && errno != EINTR)
            die("accept");
    }
    return NULL;
}

/* ---- The program ---- */

static void start(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, argument))
        die("thread");
}

static void start_worker(struct worker *worker)
{
    worker->epoll = epoll_create1(0);
    worker->buffer = malloc(READ_SIZE);
    if (worker->epoll < 0 || !worker->buffer)
        die("worker");
    TAILQ_INIT(&worker->waiting);
    start(work, worker);
}

static void allow_many_connections(void)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

/* The threads inherit that the signals are blocked, so they arrive here, one after the other. */
static void report_when_asked(const sigset_t *signals)
{
    for (int signal = 0; signal != SIGTERM;) {
        sigwait(signals, &signal);
        printf("mails=%ld bytes=%ld connections=%ld\n", mails, bytes, connections);
        fflush(stdout);
    }
}

int main(int count, char **arguments)
{
    int port = count > 1 ? atoi(arguments[1]) : 0, threads = count > 2 ? atoi(arguments[2]) : 0;
    if (port < 1 || threads < 1 || threads > MOST_THREADS || count > 6) {
        fprintf(stderr, "usage: sink PORT THREADS [DELAY_MS] [PIPELINING] [LOG_FILE]; at most %d threads\n",
                MOST_THREADS);
        return 2;
    }
    delay = count > 3 ? atoi(arguments[3]) / 1000.0 : 0;
    pipelining = count > 4 ? atoi(arguments[4]) : 1;
    if (count > 5 && (log_file = open(arguments[5], O_WRONLY | O_CREAT | O_APPEND, 0644)) < 0)
        die(arguments[5]);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    allow_many_connections();
    struct reception reception = {listen_on(port), threads};
    for (int i = 0; i < threads; i++)
        start_worker(&workers[i]);
    start(deal_out, &reception);
    report_when_asked(&signals);
    return 0;
}
