#include <linux/sockios.h>
#include <linux/tcp.h>
#include <sys/ioctl.h>

#include "lib/net/tls.h"
#include "lib/send/transfer.h"

#define WARMUP_LOOPS (WARMUP_MAX * (1000000000 / WIRE_WARMUP_NS))
#define TICK_MS      ((int)(TICK_NS / 1000000))
#define DISCARD_MAX  (1 << 20) /* bytes of a raw server's answer that one call discards */
#define RAW_SHARE    0.01 /* of the wait for the last acknowledgement, by which it is found late */
#define SLOW_PACE                                                                                  \
	(64 * 1024 / 60)         /* a segment takes longer than the default of zcs --idle-timeout */
#define RAW_CLOSE_NS 1000000000u /* in which a raw server may close the connection after that */

/*
 * What is known of a stream.
 */

/* Bytes of the wire that the server has not acknowledged; the FIN takes a byte of the sequence. */
static uint64_t unacknowledged(const struct stream *st)
{
	int n = 0;

	ioctl(st->sender.sock, SIOCOUTQ, &n);
	n -= st->phase != STREAM_SENDING;
	return n > 0 ? (uint64_t)n : 0;
}

/* Bytes of the wire that were acknowledged: of those that TCP has, the part that all data have of all records. */
static double without_records(const struct stream *st, const struct stream_mark *m)
{
	const double all = m->tcp.acked + (double)unacknowledged(st);

	return isnan(m->records) || all <= 0
		       ? m->tcp.acked
		       : m->tcp.acked * fmax(0, 1 - TLS_OVERHEAD * m->records / all);
}

/*
 * Bytes of files are those that the server has acknowledged.  While the stream sends, the sender's
 * own count is behind, as a call that blocks is counted when it returns: TCP_INFO has them.
 * Headers count once they are in the socket, so that with many small files this may be too little
 * meanwhile.  TCP_INFO also counts the FIN.
 */
struct stream_mark stream_mark(const struct stream *st)
{
	struct stream_mark m;
	uint64_t sent;
	double acked;

	tcp_figures_read(st->sender.sock, true, &m.tcp);
	sent = st->sender.bytes;
	m.records = st->opt->tls != NULL ? tls_records(st->sender.sock, st->opt->tls, TLS_SENDS)
					 : NAN;
	acked = without_records(st, &m) - (double)st->headers;
	/* As of Multipath TCP before Linux 6.5; and of TLS, once this end's count is exact. */
	if (isnan(acked) || (st->opt->tls != NULL && st->phase != STREAM_SENDING))
		acked = (double)sent - (double)unacknowledged(st);
	else if (st->phase == STREAM_SENDING && *st->sender.stop != 0)
		acked--; /* the FIN, if the run has shut the connection down */
	m.bytes = acked > 0 ? (uint64_t)acked : 0;
	if (m.bytes > sent && st->phase != STREAM_SENDING)
		m.bytes = sent;
	m.calls = st->sender.calls;
	m.files = st->files;
	m.ns = now_ns();
	return m;
}

/* Stores what a stream did between two marks.  Its connection was then in the state `tcp`. */
static void stream_figures_between(const struct stream_mark *from, const struct stream_mark *to,
				   const struct tcp_figures *tcp, struct figures *f)
{
	const struct tcp_figures *a = &from->tcp, *b = &to->tcp;

	figures_init(f);
	f->bytes = to->bytes > from->bytes ? to->bytes - from->bytes : 0;
	f->calls = to->calls - from->calls;
	f->files = to->files - from->files;
	f->seconds = seconds_between(from->ns, to->ns);
	f->tcp = *tcp;
	f->tcp.retransmits = b->retransmits - a->retransmits;
	f->tcp.segments = b->segments - a->segments;
	f->tcp.busy = b->busy - a->busy;
	f->tcp.rwnd_limited = b->rwnd_limited - a->rwnd_limited;
	f->tcp.sndbuf_limited = b->sndbuf_limited - a->sndbuf_limited;
}

/*
 * What is not sent though the receiver's window and the buffer allow it waits for the congestion window, if
 * that is full, or for the pacing.  The kernel may hold back a third of the window, to send it together
 * (net.ipv4.tcp_tso_win_divisor).
 */
void stream_sample(struct stream *st)
{
	const struct stream_mark m = stream_mark(st);
	const struct tcp_figures *t = &m.tcp;
	struct samples *s = &st->samples;
	const struct tcp_figures last = s->last;
	const double limited = t->rwnd_limited - last.rwnd_limited + t->sndbuf_limited -
			       last.sndbuf_limited,
		     rest = fmax(t->busy - last.busy - limited, 0);

	if (st->phase >= STREAM_MEASURED)
		return;
	stalls_look(&s->watch, m.ns, m.bytes, t->in_flight > 0 || t->unsent > 0);
	if (isnan(t->busy))
		return;
	s->last = *t;
	if (t->in_flight * 3 > t->window * 2)
		s->waits.cwnd_limited += rest;
	else if (st->paced && t->unsent > 0)
		s->waits.pacing_limited += rest;
	s->rest += rest;
	s->n++;
	s->waits.mean_rtt += t->rtt;
	s->waits.mean_cwnd += t->cwnd;
	s->waits.max_rtt = fmax(s->waits.max_rtt, t->rtt);
	s->waits.max_cwnd = fmax(s->waits.max_cwnd, t->cwnd);
}

void stream_begin(struct stream *st)
{
	st->begin = st->last = st->mark;
	st->samples = (struct samples){.last = st->mark.tcp};
}

void stream_interval(struct stream *st)
{
	const struct stream_mark last = st->last;

	st->last = st->mark;
	if (st->phase >=
	    STREAM_MEASURED) /* the server may still acknowledge what an interruption cut */
		st->last.bytes = st->end.bytes;
	if (st->last.bytes < last.bytes) /* more headers wait in the socket than did */
		st->last.bytes = last.bytes;
	stream_figures_between(&last, &st->last, &st->last.tcp, &st->result->interval);
}

/*
 * Counts of the connection are those since the warm-up; the connection may have ended before it.  Of what no counter
 * of the kernel has, the samples have the shares that they saw.
 */
void stream_figures(struct stream *st)
{
	const bool is_final = st->phase >= STREAM_MEASURED;
	const struct stream_mark *end = is_final ? &st->end : &st->mark;
	struct figures *f = &st->result->sent;
	struct samples *s = &st->samples;
	double rest;

	stream_figures_between(&st->begin, end, is_final ? &st->tcp : &end->tcp, f);
	if (st->phase == STREAM_DONE)
		f->zerocopy = st->sender.zerocopy;
	rest = fmax(f->tcp.busy - f->tcp.rwnd_limited - f->tcp.sndbuf_limited, 0);
	if (s->n > 0)
		f->waits = s->waits;
	f->waits.elapsed = f->seconds * 1e6;
	f->waits.cwnd_limited = s->rest > 0 ? s->waits.cwnd_limited / s->rest * rest : 0;
	f->waits.pacing_limited = s->rest > 0 ? s->waits.pacing_limited / s->rest * rest : 0;
	f->waits.mean_rtt /= (double)s->n;
	f->waits.mean_cwnd /= (double)s->n;
	if (isnan(f->tcp.busy)) /* of several subflows: what was sampled is of the first alone */
		set_unknown(&f->waits, sizeof(f->waits));
	stalls_end(&s->watch, end->ns);
	f->stalls = (double)s->watch.stalls.n;
	f->longest_stall = (double)s->watch.stalls.longest_ns / 1e3;
	f->tcp.rcv_ooo = NAN; /* it is of what this end received */
	/* A mark has the headers of a file as its bytes until headers_send() has counted them. */
	f->warmup = st->begin.bytes < end->bytes ? st->begin.bytes : end->bytes;
	strcpy(f->method, st->sender.method->name);
	if (st->opt->bind.n > 0)
		f->cpu = cpu_of(&st->opt->bind, st->worker.number);
	f->tls.records = end->records - st->begin.records;
	if (st->opt->tls != NULL) {
		strcpy(f->tls.version, TLS_VERSION);
		strcpy(f->tls.cipher, st->opt->tls->name);
		strcpy(f->tls.place, st->encrypts);
	}
}

/*
 * How a stream fails.
 */

/* Breaks the transfer.  Only the main thread, which may watch the stream meanwhile, returns from it. */
#define stream_fail(st, ...) run_break((st)->worker.run, __VA_ARGS__)

static void die_if_refused(const struct stream *st, const struct figures *received)
{
	static const char *const reasons[][2] = {
		{REFUSED_FULL, "the server has reached its limit of clients (zcs --max-clients)"},
		{REFUSED_ADDRESS, "the server does not serve this address (zcs --allow)"},
		{REFUSED_METHOD,
		 "the server lacks what its method needs (zcs -m, which says more there)"},
		{REFUSED_TLS, "the server has another cipher, or lacks this one (zcs --tls)"},
	};
	const char *word = received->refused;
	size_t i;

	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strcmp(word, reasons[i][0]) == 0)
			word = reasons[i][1];
	if (word[0] != '\0')
		die("%s: rejected: %s", st->peer, word);
}

/*
 * Fails because of a failed call on the socket, or of a failed send of the file `f`.  While the connection is open, the
 * cause is the file, the kernel or its memory; ENOBUFS means that too much is pinned.  A server that rejects a
 * stream sends the reason and closes.  A zcs --reply reads 4 bytes and closes: what its socket's buffer took is
 * acknowledged.
 */
#define REPLY_ACKED (1024 * 1024)

static void fail_of_send(const struct stream *st, const struct file *f)
{
	const int e = errno;
	const bool ended = e == EPIPE || e == ECONNRESET;
	const uint64_t acked = stream_mark(st).bytes;
	const char *why = e == EPIPE        ? "the server closed the connection"
			  : e == ECONNRESET ? "the server reset the connection"
			  : e == ENOBUFS
				  ? "no memory to pin: raise ulimit -l or net.core.optmem_max"
				  : strerror(e);
	struct pollfd p = {.fd = st->sender.sock};
	char line[RECEIPT_MAX];
	struct figures received;
	ssize_t n;

	if (f != NULL && e != ENOBUFS && poll(&p, 1, 0) >= 0 && (p.revents & POLLHUP) == 0)
		stream_fail(st, "%s: -m %s cannot send it: %s", f->name, st->sender.method->name,
			    strerror(e));
	if (ended && !st->opt->raw) {
		n = recv(st->sender.sock, line, sizeof(line), MSG_DONTWAIT);
		if (n > 0 && receipt_parse(line, (size_t)n, &received) == NULL)
			die_if_refused(st, &received);
	}
	stream_fail(st, "%s: %s after %" PRIu64 " byte%s%s", st->peer, why, acked, plural(acked),
		    ended && !st->opt->raw && acked < REPLY_ACKED ? ": is it a zcs --reply?" : "");
}

void stream_watch(struct stream *st)
{
	const bool waits = st->phase == STREAM_WAITING && !st->opt->raw;
	const uint64_t acked = stream_mark(st).bytes;
	const uint64_t progress = acked + st->sender.bytes + st->files;

	/* A file that cannot be read leaves nothing to be acknowledged. */
	if (progress == st->progress && st->phase < STREAM_MEASURED &&
	    (waits || unacknowledged(st) > 0))
		stream_fail(
			st,
			"%s: the server accepted no data for %g seconds (--timeout%s) after %" PRIu64
			" byte%s",
			st->peer, st->opt->timeout,
			st->opt->pace > 0 ? ", and two segments at --pace" : "", acked,
			plural(acked));
	st->progress = progress;
}

/*
 * Sending.
 */

/* Headers that are to be sent in front of the next data. */
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

/*
 * MSG_MORE holds the headers back, so that they travel with the data that they announce.  Where no data follow TLS would
 * never send them.  A stop ends only a call that blocks.
 */
static void headers_send(struct stream *st, struct headers *h, bool has_data)
{
	const int flags = has_data || st->opt->tls == NULL ? MSG_MORE : 0;
	size_t done = 0;
	ssize_t n;

	while (done < h->len) {
		n = send(st->sender.sock, h->buf + done, h->len - done, flags);
		if (n < 0 && sender_failed(&st->sender))
			fail_of_send(st, NULL);
		if (n < 0 && sender_stopped(&st->sender))
			break;
		done += n > 0 ? (size_t)n : 0;
		st->headers += n > 0 ? (uint64_t)n : 0;
	}
	h->len = 0;
}

/* Sends a file, entry by entry, behind the headers before it. */
static void send_file(struct stream *st, const struct file *f, struct headers *h)
{
	uint64_t off = 0;
	uint32_t len;
	int64_t n;

	st->sender.data = st->opt->preload && st->sender.method->has_buffer ? f->data : NULL;
	do {
		len = file_entry(f, off);
		if (st->left < len)
			len = (uint32_t)st->left;
		headers_add(st, h, len);
		headers_send(st, h, len > 0);
		st->worker.sock = st->sender.sock;
		n = sender_send(&st->sender, f->fd, (off_t)off, len);
		if (n < 0)
			fail_of_send(st, f);
		if (n == len)
			st->files++;
		else if (!sender_stopped(&st->sender))
			stream_fail(st, "%s: shrank while it was being sent", f->name);
		off += len;
		st->left -= len;
	} while (off < f->size && st->left > 0 && !sender_stopped(&st->sender));
	if (st->opt->debug > 1) /* in one piece: streams share stderr, and warnx(3) cuts its line */
		fprintf(stderr, "%s: %s: %" PRIu64 " bytes\n", program_invocation_short_name,
			printable(f->name), f->size);
}

static void set_cork(const struct stream *st, int on)
{
	if (st->opt->cork && sock_set(st->sender.sock, IPPROTO_TCP, TCP_CORK, on) != 0)
		die_errno("TCP_CORK");
}

static uint32_t warmup_loops(const struct stream *st)
{
	return (uint32_t)lround(st->opt->warmup * 1e9 / WIRE_WARMUP_NS);
}

/* The first header. */
static uint32_t loops_header(const struct stream *st)
{
	const struct send_options *opt = st->opt;

	return opt->seconds > 0 || opt->bytes > 0 ? WIRE_FOREVER : opt->loops + warmup_loops(st);
}

/* Sends the whole of the wire, up to the last byte or a stop. */
static void send_loops(struct stream *st)
{
	const uint32_t loops = loops_header(st), warmup = warmup_loops(st);
	struct headers h = {.len = 0};
	uint32_t loop;
	size_t i;

	if (st->opt->tls == NULL)
		headers_add(st, &h, loops);
	for (loop = 0; loop < warmup; loop++)
		headers_add(st, &h, 0);
	while (!sender_stopped(&st->sender) && st->left > 0 &&
	       (loops == WIRE_FOREVER || loop++ < loops)) {
		headers_add(st, &h, st->set->entries);
		set_cork(st, 1);
		for (i = 0; i < st->set->n && st->left > 0 && !sender_stopped(&st->sender); i++)
			send_file(st, &st->set->file[i], &h);
		set_cork(st, 0);
	}
	/* The time was over before the stream began: the server is to see a whole stream without a file. */
	if (st->headers == 0)
		headers_send(st, &h, false);
}

/*
 * TLS.
 */

#define HELLO_SECONDS 5
#define NO_HELLO      "is it a zcs --tls, of version 2.0 or later?"

/* Waits for the server's answer, as long as HELLO_SECONDS.  Returns its first byte; 0 if a signal came. */
static unsigned char wait_for_answer(const struct stream *st)
{
	struct pollfd p = {.fd = st->sender.sock, .events = POLLIN};
	const uint64_t until = time_after(now_ns(), HELLO_SECONDS);
	unsigned char first = 0;
	int n;

	do
		n = poll(&p, 1, TICK_MS);
	while (n <= 0 && *st->sender.stop == 0 && now_ns() < until);
	if (*st->sender.stop > 0)
		return 0;
	if (n <= 0)
		die("%s: no answer to the hello of --tls in %d s: " NO_HELLO, st->peer,
		    HELLO_SECONDS);
	if (recv(st->sender.sock, &first, 1, MSG_PEEK) != 1)
		die("%s: closed at the hello of --tls: " NO_HELLO, st->peer);
	return first;
}

void stream_hello(struct stream *st)
{
	const struct tls_cipher *c = st->opt->tls;
	const int sock = st->sender.sock;
	unsigned char header[WIRE_HEADER];
	char line[RECEIPT_MAX], wanted[64];
	struct figures received;
	bool encrypted;
	ssize_t n;

	if (tls_start_where(sock, c, TLS_TO_SERVER, TLS_SENDS, &st->encrypts) != 0)
		die("%s: --tls: %s", st->peer, tls_explain(c, errno));
	wire_put(header, loops_header(st));
	if (send(sock, header, sizeof(header), 0) != (ssize_t)sizeof(header))
		die_errno("%s: the hello of --tls", st->peer);
	st->headers = sizeof(header);
	encrypted = wait_for_answer(st) == 0x17;
	if (*st->sender.stop > 0)
		return;
	if (encrypted && tls_start(sock, c, TLS_TO_CLIENT, TLS_RECEIVES) != 0)
		die("%s: --tls: %s", st->peer, tls_explain(c, errno));
	n = TEMP_FAILURE_RETRY(recv(sock, line, sizeof(line), 0));
	snprintf(wanted, sizeof(wanted), "tls=%s\n", c->name);
	if (encrypted && n == (ssize_t)strlen(wanted) && memcmp(line, wanted, (size_t)n) == 0) {
		st->mark = stream_mark(st);
		return;
	}
	if (!encrypted && n > 0 && receipt_parse(line, (size_t)n, &received) == NULL)
		die_if_refused(st, &received);
	die("%s: the answer to the hello of --tls is not that of a zcs: " NO_HELLO, st->peer);
}

/*
 * The end of a stream.
 */

/*
 * Takes what the server sent, `len` bytes, before it `closed` the connection.  A server of 2001
 * sends nothing.  One that sends something else, or closes while data are under way, has not
 * received all.
 */
static void take_receipt(struct stream *st, const char *buf, size_t len, bool closed)
{
	struct figures *f = &st->result->received;
	const char *why = len > 0 ? receipt_parse(buf, len, f) : NULL;
	const uint64_t left = unacknowledged(st);
	double lost;
	const bool is_slow = st->opt->pace > 0 && st->opt->pace < SLOW_PACE;

	if (len > 0 && why == NULL)
		die_if_refused(st, f);
	if (closed && left > 0)
		stream_fail(
			st,
			"%s: the server closed the connection before it had acknowledged the last "
			"%" PRIu64 " byte%s%s",
			st->peer, left, plural(left),
			is_slow ? ": at this --pace it is silent for longer than zcs --idle-timeout"
				: "");
	if (why != NULL && *st->sender.stop <= 0)
		stream_fail(
			st,
			"%s: the server's answer is not a receipt, it %s: use --raw if it is not zcs",
			st->peer, why);
	st->result->has_receipt = len > 0 && why == NULL;
	/* What was in no complete record when a stop came is lost: of the last call, or of several short ones. */
	lost = (double)st->sender.bytes - (double)(f->bytes + f->warmup);
	if (st->opt->tls != NULL && st->result->has_receipt && *st->sender.stop != 0 && lost > 0 &&
	    lost <= (double)st->sender.chunk + TLS_DATA_MAX)
		st->sender.bytes = f->bytes + f->warmup;
}

/* Ends the counts; what the stream waits for afterwards is in none of them. */
static void end_measuring(struct stream *st)
{
	st->end = stream_mark(st);
	st->phase = STREAM_MEASURED;
	run_measured(st->worker.run);
	sender_finish(&st->sender);
}

/*
 * Waits for the receipt, once all is sent, and takes it.  Reads at most RECEIPT_MAX bytes and one
 * that is too many.
 */
static void finish_receipt(struct stream *st)
{
	struct pollfd p = {.fd = st->sender.sock, .events = POLLIN};
	char buf[RECEIPT_MAX + 1];
	size_t len = 0;
	ssize_t n = -1;

	while (n != 0 && len < sizeof(buf) && !sender_is_abandoned(&st->sender)) {
		if (poll(&p, 1, TICK_MS) <= 0)
			continue;
		n = recv(st->sender.sock, buf + len, sizeof(buf) - len, MSG_DONTWAIT);
		if (n > 0)
			len += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			sender_reap(&st->sender); /* a completion woke it */
		else if (n < 0 && *st->sender.stop > 0)
			break;
		/* Not by EPIPE, if a stop has cut a record of TLS. */
		else if (n < 0 && sender_failed(&st->sender))
			fail_of_send(st, NULL);
	}
	take_receipt(st, buf, len, n == 0);
	end_measuring(st);
}

/* After the end of stream recv(2) no longer returns the connection's error. */
ssize_t stream_discard(const struct stream *st)
{
	/* cppcheck-suppress nullPointer ; with MSG_TRUNC there need be no buffer */
	const ssize_t n = recv(st->sender.sock, NULL, DISCARD_MAX, MSG_DONTWAIT | MSG_TRUNC);

	if (n == 0)
		errno = sock_get(st->sender.sock, SOL_SOCKET, SO_ERROR);
	if (n <= 0 && errno != 0 && errno != EAGAIN && errno != EINTR)
		fail_of_send(st, NULL);
	return n;
}

/* Waits for what a raw server sends, for `ms`, and discards it. */
static void discard_next(struct stream *st, struct pollfd *p, int ms)
{
	ssize_t n;

	poll(p, 1, ms);
	n = stream_discard(st);
	if (n < 0)
		sender_reap(&st->sender); /* a completion may have woken it */
	if (n == 0)
		p->fd = -1; /* at the end of stream poll(2) would return at once */
}

/*
 * Waits for the end of a raw stream, once all is sent: until the server has acknowledged all, which
 * ends the figures, and then, for RAW_CLOSE_NS, until it has closed the connection.  No event tells of an
 * acknowledgement, so that the thread looks for it: the longer it has waited, the less often.
 */
static void finish_raw(struct stream *st)
{
	struct pollfd p = {.fd = st->sender.sock, .events = POLLIN};
	const uint64_t begun = now_ns();
	uint64_t until;

	while (unacknowledged(st) > 0 && !sender_is_abandoned(&st->sender))
		discard_next(
			st, &p,
			(int)fmin(1 + 1e3 * RAW_SHARE * seconds_between(begun, now_ns()), TICK_MS));
	end_measuring(st);
	until = now_ns() + RAW_CLOSE_NS;
	while (p.fd >= 0 && !sender_is_abandoned(&st->sender) && now_ns() < until)
		discard_next(st, &p, TICK_MS);
}

void stream_work(void *stream)
{
	struct stream *st = stream;

	send_loops(st);
	st->worker.sock = -1;
	st->phase = STREAM_WAITING;
	if (shutdown(st->sender.sock, SHUT_WR) != 0 && errno != ENOTCONN)
		fail_of_send(st, NULL);
	tcp_figures_read(st->sender.sock, true, &st->tcp);
	if (st->opt->raw)
		finish_raw(st);
	else
		finish_receipt(st);
	st->phase = STREAM_DONE;
}

void stream_open(struct stream *st, int sock, uint64_t chunk, const _Atomic int *stop)
{
	const struct send_options *opt = st->opt;
	socklen_t len = sizeof(st->result->local);

	getsockname(sock, (struct sockaddr *)&st->result->local, &len);
	sock_keep_alive(sock);
	/* Until transfer_close(): a server takes an orderly end after -t or --bytes for a sender that has sent all. */
	sock_reset_at_close(sock, true);
	/* A time-out of the socket was for connect(2); stream_watch() has that of the transfer. */
	if (opt->timeout + opt->wait_server > 0 && sock_set_timeout(sock, 0) != 0)
		die_errno("--timeout %g", opt->timeout);
	if (opt->bytes == 0)
		st->left = UINT64_MAX;
	sender_open(&st->sender, opt->method, sock, chunk, opt->streams, stop);
	st->worker.connection = sock;
	st->mark = stream_mark(st);
}
