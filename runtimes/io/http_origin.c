#include "runtimes/io/http_origin.h"

#include <ctype.h>
#include <curl/curl.h>
#include <string.h>

#include "engine/base/str.h"

void http_origin_done(struct http_origin *origin)
{
    free(origin->text);
    free(origin->host);
    free(origin->path);
    *origin = (struct http_origin){0};
}

static char *url_part(CURLU *url, CURLUPart part, unsigned flags)
{
    char *text, *copy;

    if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
        return NULL;
    copy = str_new(text);
    curl_free(text);
    return copy;
}

/* An address of IPv6 is in brackets. */
static bool is_host(const char *host)
{
    if (*host == '[')
        return host[1 + strspn(host + 1, "0123456789abcdef:.")] == ']';
    return *host && !host[strspn(host, "abcdefghijklmnopqrstuvwxyz0123456789-._")];
}

static bool has_part(CURLU *url, CURLUPart part)
{
    _cleanup_free_ char *text = url_part(url, part, 0);

    return text;
}

static bool has_more(CURLU *url)
{
    return has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD) ||
           has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT) ||
           has_part(url, CURLUPART_ZONEID);
}

static bool read_parts(CURLU *url, struct http_origin *ret)
{
    _cleanup_free_ char *scheme = url_part(url, CURLUPART_SCHEME, 0);
    _cleanup_free_ char *host = url_part(url, CURLUPART_HOST, 0);
    _cleanup_free_ char *port = url_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);

    for (char *c = host; c && *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (!host || !port || !is_host(host) || has_more(url) ||
        (!str_equal(scheme, "https") && !str_equal(scheme, "http")))
        return false;
    ret->text = str_printf("%s://%s:%s", scheme, host, port);
    ret->host = *host == '[' ? str_new_n(host + 1, strlen(host) - 2) : str_new(host);
    ret->path = url_part(url, CURLUPART_PATH, 0);
    return true;
}

/* A host in which bytes are escaped is one that somebody wants to hide. */
static bool has_escaped_host(const char *text)
{
    const char *host = strstr(text, "://");

    host = host ? host + strlen("://") : text;
    return memchr(host, '%', strcspn(host, "/"));
}

/* "\" and "@" are read differently by different parsers. */
int http_origin_read(const char *text, struct http_origin *ret, struct error *error)
{
    CURLU *url = curl_url();
    bool is_read;

    if (!url)
        abort();
    is_read = !strpbrk(text, "\\@") && !has_escaped_host(text) &&
              curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK && read_parts(url, ret);
    curl_url_cleanup(url);
    return is_read ? 0
                   : err_set(error, ERR_INVALID, "InvalidAddress",
                             "is not the address of a server, as https://dns.example.com/api is: "
                             "without a user, a query and a fragment");
}
