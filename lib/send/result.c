#include "lib/send/result.h"

static uint64_t bytes_of(const struct figures *f)
{
	return f->bytes + f->warmup;
}

uint64_t stream_result_missing(const struct stream_result *s)
{
	const uint64_t sent = bytes_of(&s->sent), received = bytes_of(&s->received);

	return sent > received ? sent - received : received - sent;
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
	int i = 0;

	while (i < streams && (!s[i].has_receipt || stream_result_missing(&s[i]) == 0))
		i++;
	if (i < streams) {
		why[0] = '\0';
		if (streams > 1)
			string_append(why, DIE_MAX, "stream %d: ", i + 1);
		string_append(why, DIE_MAX,
			      "the server received %" PRIu64 " byte%s of the %" PRIu64 " sent",
			      bytes_of(&s[i].received), plural(bytes_of(&s[i].received)),
			      bytes_of(&s[i].sent));
		return why;
	}
	return result_receipts_text(res, streams, why)[0] != '\0' ? why : NULL;
}
