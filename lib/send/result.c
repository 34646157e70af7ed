#include "lib/send/result.h"

/* What was moved, the warm-up included. */
static uint64_t bytes_of(const struct figures *f)
{
	return f->bytes + f->warmup;
}

const struct figures *result_host(const struct send_result *res)
{
	const struct load *sent = &res->sent.host, *received = &res->received.host;
	const bool by_receiver = isnan(sent->load) && (!isnan(received->load) || sent->unsafe == 0);

	return res->local && by_receiver ? &res->received : &res->sent;
}

const char *result_receipts_text(const struct send_result *res, int streams,
				 char buf[RECEIPTS_STRLEN])
{
	const int without = streams - res->receipts;

	buf[0] = '\0';
	if (res->receipts > 0 && without > 0)
		snprintf(buf, RECEIPTS_STRLEN, "%d of %d streams %s no receipt", without, streams,
			 without == 1 ? "has" : "have");
	return buf;
}

const char *result_check(const struct send_result *res, int streams, char why[DIE_MAX])
{
	const struct stream_result *s = res->stream;
	char stream[32] = "";
	int i;

	for (i = 0; i < streams; i++, s++)
		if (s->has_receipt && bytes_of(&s->received) != bytes_of(&s->sent)) {
			if (streams > 1)
				snprintf(stream, sizeof(stream), "stream %d: ", i + 1);
			snprintf(why, DIE_MAX,
				 "%sthe server received %" PRIu64 " bytes of the %" PRIu64 " sent",
				 stream, bytes_of(&s->received), bytes_of(&s->sent));
			return why;
		}
	return result_receipts_text(res, streams, why)[0] != '\0' ? why : NULL;
}
