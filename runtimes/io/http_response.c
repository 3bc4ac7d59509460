#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/str.h"
#include "runtimes/io/clock.h"
#include "runtimes/io/http_call.h"

/* Longer delays are shortened to this. */
#define LONGEST_RETRY_AFTER_MS (INT64_C(30) * 24 * 3600 * 1000)

void http_response_done(struct http_response *response)
{
    buf_done(&response->body);
    free(response->content_type);
    for (size_t i = 0; i < HTTP_FIELDS; i++)
        free(response->fields[i]);
    *response = (struct http_response)HTTP_RESPONSE_INIT;
}

static bool is_number(const char *value)
{
    return *value && value[strspn(value, "0123456789")] == '\0';
}

int64_t http_date(const char *value)
{
    time_t date = curl_getdate(value, NULL);

    return date < 0 ? -1 : (int64_t)date * 1000;
}

int64_t http_retry_after(const char *value, int64_t now)
{
    int64_t seconds, delay;
    time_t date;

    if (is_number(value)) {
        if (!str_to_int64(value, &seconds) || seconds > LONGEST_RETRY_AFTER_MS / 1000)
            return LONGEST_RETRY_AFTER_MS;
        return seconds * 1000;
    }
    date = curl_getdate(value, NULL);
    if (date < 0)
        return -1;
    if (date > now / 1000 + LONGEST_RETRY_AFTER_MS / 1000)
        return LONGEST_RETRY_AFTER_MS;
    delay = (int64_t)date * 1000 - now;
    return delay > 0 ? delay : 0;
}

static const char *field(CURL *handle, const char *name, unsigned where)
{
    struct curl_header *found;

    if (curl_easy_header(handle, name, 0, where, -1, &found) != CURLHE_OK)
        return NULL;
    return found->value;
}

static char *media_type(const char *value)
{
    size_t length = strcspn(value, ";");

    while (length > 0 && isspace((unsigned char)value[length - 1]))
        length--;
    return str_new_n(value, length);
}

void http_response_read(struct http_response *response, CURL *handle,
                        const struct http_request *request)
{
    const char *type = field(handle, "Content-Type", CURLH_HEADER);
    const char *retry_after = field(handle, "Retry-After", CURLH_HEADER);
    long status = 0;

    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    response->status = (int)status;
    if (type)
        response->content_type = media_type(type);
    if (retry_after)
        response->retry_after = http_retry_after(retry_after, system_clock.now(&system_clock));
    for (size_t i = 0; i < request->n_fields; i++)
        response->fields[i] =
            str_new(field(handle, request->fields[i], CURLH_HEADER | CURLH_TRAILER));
}
