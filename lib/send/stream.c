#include "lib/send/stream.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include "lib/load/cpus.h"
#include "lib/net/wire.h"
#include "lib/send/zerocopy.h"

#define WARMUP_LOOPS   (WARMUP_MAX * (1000000000 / WIRE_WARMUP_NS))
#define PATIENCE_NS    1000000000u /* how long an interrupted stream waits for the server */
#define DISCARD_MAX    (1 << 20)   /* bytes of a raw server's answer that one call discards */
#define RAW_NS         1000000u    /* how often a raw stream looks whether all is acknowledged */
#define RAW_SILENCE_NS 1000000000u /* a raw server that sends nothing for this long is done */

/*
 * What is known of a stream.
 */

/* Bytes of the wire that the server has not acknowledged; the FIN takes a byte of the sequence. */
static int unacknowledged(const struct stream *st)
{
	int n = 0;

	if (ioctl(st->sender.sock, SIOCOUTQ, &n) != 0)
		return 0;
	return st->phase >= STREAM_WAITING && n > 0 ? n - 1 : n;
}

/*
 * Bytes of files that the server has acknowledged, by TCP_INFO, which counts the SYN as a byte and
 * the FIN as another.  While the stream sends, the sender's count is behind: a call that blocks is
 * counted when it returns.  Headers count once they are in the socket, so that with many small
 * files this may be too little meanwhile.  Linux before 4.1 has only the length of the queue.
 */
static uint64_t acknowledged(const struct stream *st, const struct tcp_figures *t)
{
	const uint64_t bytes = counter_read(&st->sender.bytes);
	uint64_t other = (uint64_t)unacknowledged(st), acked;

	if (!(t->acked > 0))
		return bytes > other ? bytes - other : 0;
	acked = (uint64_t)t->acked;
	other = 1 + counter_read(&st->headers);
	acked = acked > other ? acked - other : 0;
	return st->phase == STREAM_SENDING || acked < bytes ? acked : bytes;
}

void stream_mark_now(const struct stream *st, struct stream_mark *m)
{
	tcp_figures_read(st->sender.sock, &m->tcp);
	m->bytes = acknowledged(st, &m->tcp);
	m->calls = counter_read(&st->sender.calls);
	m->files = counter_read(&st->files);
	m->ns = now_ns();
}

/* Counts of the connection are those since the warm-up; the connection may have ended before it. */
void stream_figures(struct stream *st)
{
	struct figures *f = &st->result->sent;
	const struct stream_mark *b = &st->begin, *e = &st->end;

	figures_init(f);
	f->bytes = e->bytes > b->bytes ? e->bytes - b->bytes : 0;
	f->calls = e->calls - b->calls;
	f->files = e->files - b->files;
	f->warmup = b->bytes;
	f->seconds = seconds_between(b->ns, st->end_ns);
	strcpy(f->method, st->sender.method->name);
	f->cpu = st->opt->bind.n > 0 ? (double)cpu_of(&st->opt->bind, st->worker.number) : NAN;
	f->tcp = st->tcp;
	f->tcp.retransmits = e->tcp.retransmits - b->tcp.retransmits;
	f->tcp.busy = e->tcp.busy - b->tcp.busy;
	f->tcp.rwnd_limited = e->tcp.rwnd_limited - b->tcp.rwnd_limited;
	f->tcp.sndbuf_limited = e->tcp.sndbuf_limited - b->tcp.sndbuf_limited;
	st->result->has_zerocopy = st->sender.zerocopy != NULL;
	if (st->result->has_zerocopy)
		zerocopy_count(&st->sender, &st->result->zerocopy);
}

/*
 * How a stream fails.
 */

static _Noreturn void die_of_refusal(const struct stream *st, const char *word)
{
	if (strcmp(word, REFUSED_FULL) == 0)
		word = "the server has as many clients as it takes (zcs --max-clients)";
	else if (strcmp(word, REFUSED_ADDRESS) == 0)
		word = "the server does not serve this address (zcs --allow)";
	die("%s: turned away: %s", st->peer, word);
}

/* A send fails if the server has rejected the stream: the server sends the reason and closes. */
static void look_for_refusal(const struct stream *st)
{
	char line[RECEIPT_MAX];
	struct figures f;
	const ssize_t n = recv(st->sender.sock, line, sizeof(line), MSG_DONTWAIT);

	if (!st->opt->raw && n > 0 && receipt_parse(line, (size_t)n, &f) == NULL &&
	    f.refused[0] != '\0')
		die_of_refusal(st, f.refused);
}

/* What the server acknowledged is still known after a reset. */
static uint64_t acknowledged_now(const struct stream *st)
{
	struct tcp_figures t;

	tcp_figures_read(st->sender.sock, &t);
	return acknowledged(st, &t);
}

static _Noreturn void die_of_timeout(const struct stream *st)
{
	die("%s: the server took nothing for %g seconds (--timeout) after %" PRIu64 " bytes",
	    st->peer, st->opt->timeout, acknowledged_now(st));
}

/* EAGAIN: SO_SNDTIMEO, which is --timeout, was over before the main thread's watch saw it. */
static _Noreturn void die_of_send(const struct stream *st)
{
	const int e = errno;
	const char *why = strerror(e);

	if (e == EPIPE || e == ECONNRESET) {
		look_for_refusal(st);
		why = e == EPIPE ? "the server closed the connection"
				 : "the server reset the connection";
	}
	if (e == EAGAIN)
		die_of_timeout(st);
	if (e == ENOBUFS && st->sender.zerocopy != NULL)
		why = "no memory to pin: raise ulimit -l or net.core.optmem_max";
	die("%s: %s after %" PRIu64 " bytes", st->peer, why, acknowledged_now(st));
}

/* What the file system or the kernel lacks is a failure of the method, not of the server. */
static _Noreturn void die_of_file(const struct stream *st, const struct file *f)
{
	const int e = errno;

	if (e == EINVAL || e == EOPNOTSUPP || e == ENOSYS || e == ENODEV || e == EIO)
		die("%s: cannot be sent by %s: %s", f->name, st->sender.method->name, strerror(e));
	die_of_send(st);
}

void stream_watch(struct stream *st, uint64_t now)
{
	const bool waiting = st->phase == STREAM_WAITING;
	const int left = unacknowledged(st);
	uint64_t moved = st->received;
	struct tcp_figures t;

	tcp_figures_read(st->sender.sock, &t);
	if (waiting && st->watch.limit.begin_ns == 0) { /* the wait has begun since */
		st->watch.limit = limit_begin();
		st->watch.first = left;
		st->watch.acked_ns = now;
	}
	/* While it sends, what is in the queue also changes when the server takes nothing. */
	if ((t.acked > 0 ? t.acked != st->watch.acked : left != st->watch.left) ||
	    (!waiting && left == 0))
		st->watch.acked_ns = now;
	st->watch.left = left;
	st->watch.acked = t.acked;
	if (st->phase != STREAM_SENDING && !waiting)
		return;
	if (st->opt->timeout > 0 && seconds_between(st->watch.acked_ns, now) > st->opt->timeout) {
		if (!st->opt->raw || left > 0)
			die_of_timeout(st);
		st->abandoned = true;
	}
	if (!waiting)
		return;
	if (left < st->watch.first)
		moved += (uint64_t)(st->watch.first - left);
	if (limit_reached(&st->watch.limit, st->opt->timeout, now, moved))
		die("%s: the server took less than 64 KiB in %g seconds (--timeout), and was "
		    "waited for for %.0f seconds after %" PRIu64 " bytes",
		    st->peer, st->opt->timeout, seconds_between(st->watch.limit.begin_ns, now),
		    acknowledged_now(st));
	if (*st->sender.stop > 0 && st->watch.interrupt_ns == 0)
		st->watch.interrupt_ns = now;
	if (st->watch.interrupt_ns != 0 && now - st->watch.interrupt_ns > PATIENCE_NS)
		st->abandoned = true;
}

/*
 * Sending.
 */

/* Headers travel with the data that they announce: MSG_MORE holds them until it comes. */
static void send_header(struct stream *st, const unsigned char *header, size_t len)
{
	ssize_t n;

	while (len > 0 && !sender_stopped(&st->sender)) {
		n = send(st->sender.sock, header, len, MSG_MORE);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die_of_send(st);
		counter_add(&st->headers, (uint64_t)n);
		header += n;
		len -= (size_t)n;
	}
}

/* Headers that are to be sent before the next data. */
struct headers {
	size_t len;
	unsigned char buf[WIRE_HEADER * (WARMUP_LOOPS + 3)];
};

static void headers_add(const struct stream *st, struct headers *h, uint32_t value)
{
	if (st->opt->raw)
		return;
	wire_put(h->buf + h->len, value);
	h->len += WIRE_HEADER;
}

/* Sends one entry: its header, and those before it, then its data. */
static void send_entry(struct stream *st, const struct file *f, int fd, uint64_t off, uint32_t len,
		       struct headers *h)
{
	int64_t n;

	headers_add(st, h, len);
	send_header(st, h->buf, h->len);
	h->len = 0;
	n = sender_send(&st->sender, fd, (off_t)off, len);
	if (n < 0)
		die_of_file(st, f);
	if (n < (int64_t)len && !sender_stopped(&st->sender))
		die("%s: shrank while it was being sent", f->name);
	if (n == (int64_t)len)
		counter_add(&st->files, 1);
}

static void send_file(struct stream *st, const struct file *f, struct headers *h)
{
	const int fd = f->fd >= 0 ? f->fd : file_open(f->name);
	uint64_t off = 0;
	uint32_t len;

	if (fd < 0)
		die_errno("%s", f->name);
	do {
		len = file_entry(f, off);
		send_entry(st, f, fd, off, len, h);
		off += len;
	} while (off < f->size && !sender_stopped(&st->sender));
	if (fd != f->fd) {
		sender_unmap(&st->sender);
		close(fd);
	}
	if (st->opt->debug > 1) {
		flockfile(stderr); /* warnx(3) writes a line in pieces, and streams share stderr */
		warnx("%s: %" PRIu64 " bytes", printable(f->name), f->size);
		funlockfile(stderr);
	}
}

static void set_cork(const struct stream *st, int on)
{
	if (st->opt->cork &&
	    setsockopt(st->sender.sock, IPPROTO_TCP, TCP_CORK, &on, sizeof(on)) != 0)
		die_errno("TCP_CORK");
}

uint32_t warmup_loops(double seconds)
{
	return (uint32_t)lround(seconds * 1e9 / WIRE_WARMUP_NS);
}

/* Sends the whole of the wire, up to the last byte or a stop. */
static void send_loops(struct stream *st)
{
	const struct send_options *opt = st->opt;
	const uint32_t warmup = warmup_loops(opt->warmup);
	struct headers h = {.len = 0};
	size_t i;

	headers_add(st, &h, opt->seconds > 0 ? WIRE_FOREVER : opt->loops + warmup);
	for (i = 0; i < warmup; i++)
		headers_add(st, &h, 0);
	while (!sender_stopped(&st->sender) && (opt->seconds > 0 || st->loops < opt->loops)) {
		headers_add(st, &h, st->set->entries);
		set_cork(st, 1);
		for (i = 0; i < st->set->n && !sender_stopped(&st->sender); i++)
			send_file(st, &st->set->file[i], &h);
		set_cork(st, 0);
		if (!sender_stopped(&st->sender))
			st->loops++;
	}
}

/*
 * The end of a stream.
 */

/*
 * Reads what the server sends after the last byte: at most RECEIPT_MAX bytes and one that is too
 * many.  Returns how many; *closed: it has closed the connection.
 */
static size_t read_receipt(struct stream *st, char *buf, bool *closed)
{
	struct pollfd p = {.fd = st->sender.sock, .events = POLLIN};
	size_t len = 0;
	ssize_t n;

	*closed = false;
	while (len <= RECEIPT_MAX && !st->abandoned) {
		if (poll(&p, 1, TICK_NS / 1000000) <= 0)
			continue;
		n = recv(st->sender.sock, buf + len, RECEIPT_MAX + 1 - len, MSG_DONTWAIT);
		*closed = n == 0;
		if (n > 0)
			st->received = len += (size_t)n;
		else if (n == 0 || *st->sender.stop > 0)
			break;
		else if (errno == EAGAIN)
			zerocopy_reap(&st->sender); /* a completion woke it */
		else if (errno != EINTR)
			die_of_send(st);
	}
	return len;
}

/*
 * Takes what the server sent, `len` bytes, before it `closed` the connection.  A server of 2001
 * sends nothing.  One that sends something else, or closes while data are under way, has not
 * received all.
 */
static void take_receipt(struct stream *st, const char *buf, size_t len, bool closed)
{
	struct figures *received = &st->result->received;
	const char *why = len > 0 ? receipt_parse(buf, len, received) : NULL;
	const int left = unacknowledged(st);

	if (len > 0 && why == NULL && received->refused[0] != '\0')
		die_of_refusal(st, received->refused);
	if (closed && left > 0)
		die("%s: the server closed the connection before it had acknowledged the last "
		    "%d bytes",
		    st->peer, left);
	if (why != NULL && *st->sender.stop <= 0)
		die("%s: the server's answer is not a receipt, it %s: use --raw if it is not zcs",
		    st->peer, why);
	st->result->has_receipt = len > 0 && why == NULL;
	if (!st->result->has_receipt)
		figures_init(received);
}

/* The counts end here; what the stream waits for afterwards is in none of them. */
static void end_measuring(struct stream *st)
{
	stream_mark_now(st, &st->end);
	run_measured(st->worker.run);
}

/* Waits for the receipt, once all is sent, and takes it. */
static void finish_receipt(struct stream *st)
{
	char buf[RECEIPT_MAX + 1];
	bool closed;
	const size_t len = read_receipt(st, buf, &closed);

	st->phase = STREAM_DONE;
	st->end_ns = now_ns();
	take_receipt(st, buf, len, closed);
	zerocopy_finish(&st->sender);
	end_measuring(st);
}

ssize_t discard_answer(struct stream *st)
{
	const int flags = MSG_DONTWAIT | MSG_TRUNC;
	/* cppcheck-suppress nullPointer ; with MSG_TRUNC there need be no buffer */
	const ssize_t n = TEMP_FAILURE_RETRY(recv(st->sender.sock, NULL, DISCARD_MAX, flags));

	if (n < 0 && errno != EAGAIN)
		die_of_send(st);
	return n;
}

/* After the end of stream recv(2) no longer returns the connection's errors. */
static void look_for_reset(const struct stream *st)
{
	int e = 0;
	socklen_t len = sizeof(e);

	if (getsockopt(st->sender.sock, SOL_SOCKET, SO_ERROR, &e, &len) == 0 && e != 0) {
		errno = e;
		die_of_send(st);
	}
}

/*
 * Waits for the end of a raw stream, once all is sent: until the server has acknowledged all, and
 * has closed the connection or sent nothing for RAW_SILENCE_NS.  The figures are those of the
 * moment at which all was acknowledged.
 */
static void finish_raw(struct stream *st)
{
	struct pollfd p = {.fd = st->sender.sock, .events = POLLIN};
	uint64_t quiet_ns = now_ns(); /* when the server last sent or acknowledged something */
	bool open = true, acked = false;
	ssize_t n;

	do {
		if (open)
			poll(&p, 1, (int)((acked ? TICK_NS : RAW_NS) / 1000000));
		else
			sleep_ns(RAW_NS); /* poll(2) would return at once */
		n = open ? discard_answer(st) : 0;
		open = open && n != 0;
		if (n > 0) {
			counter_add(&st->received, (uint64_t)n);
			quiet_ns = now_ns();
		} else if (n < 0) {
			zerocopy_reap(&st->sender); /* a completion may have woken it */
		}
		look_for_reset(st);
		if (!acked && unacknowledged(st) == 0) {
			acked = true;
			st->end_ns = quiet_ns = now_ns();
			end_measuring(st);
		}
	} while ((!acked || (open && now_ns() - quiet_ns < RAW_SILENCE_NS)) && !st->abandoned);
	st->phase = STREAM_DONE;
	if (!acked) {
		st->end_ns = now_ns();
		end_measuring(st);
	}
	zerocopy_finish(&st->sender);
}

void stream_work(void *stream)
{
	struct stream *st = stream;

	st->phase = STREAM_SENDING;
	st->worker.interruptible = true;
	send_loops(st);
	st->worker.interruptible = false;
	st->phase = STREAM_WAITING;
	if (shutdown(st->sender.sock, SHUT_WR) != 0 && errno != ENOTCONN)
		die_of_send(st);
	tcp_figures_read(st->sender.sock, &st->tcp);
	if (st->opt->raw)
		finish_raw(st);
	else
		finish_receipt(st);
}

void stream_open(struct stream *st, const struct send_options *opt, int sock, size_t chunk,
		 const _Atomic int *stop)
{
	socklen_t len = sizeof(st->result->local);

	st->opt = opt;
	figures_init(&st->result->received);
	getsockname(sock, (struct sockaddr *)&st->result->local, &len);
	sock_keep_alive(sock);
	sender_open(&st->sender, opt->method, sock, chunk, opt->streams, stop);
}
