#include "runtimes/io/http_url.h"

#include <ctype.h>
#include <curl/curl.h>
#include <string.h>

#include "engine/base/str.h"
#include "engine/base/utf8.h"

static void cleanup_p(CURLU **url)
{
    curl_url_cleanup(*url);
}

/* A copy that free() frees. NULL: there is none. */
static char *part(CURLU *url, CURLUPart what, unsigned flags)
{
    char *text = NULL, *copy;

    if (curl_url_get(url, what, &text, flags) != CURLUE_OK)
        return NULL;
    copy = str_new(text);
    curl_free(text);
    return copy;
}

static int refuse(const char *address, const char *why, struct error *error)
{
    _cleanup_free_ char *short_text = str_new_n(address, strcspn(address, "?#"));
    _cleanup_free_ char *shown = utf8_show(short_text);

    return err_set(error, ERR_INVALID, "InvalidAddress", "\"%s\" %s", shown, why);
}

static void lower(char *text)
{
    for (; *text; text++)
        *text = (char)tolower((unsigned char)*text);
}

static void fill(CURLU *url, struct http_url *ret)
{
    _cleanup_free_ char *host = part(url, CURLUPART_HOST, 0), *path = part(url, CURLUPART_PATH, 0);
    _cleanup_free_ char *port = part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    _cleanup_free_ char *query = part(url, CURLUPART_QUERY, 0);
    bool is_usual = str_equal(port, "443");

    lower(host);
    curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0);
    ret->whole = part(url, CURLUPART_URL, 0);
    ret->host = str_printf("%s:%s", host, port);
    ret->origin = str_printf("https://%s", is_usual ? host : ret->host);
    ret->path = str_printf("%s%s%s", path, query ? "?" : "", query ? query : "");
    ret->shown = str_printf("%s%s", ret->origin, path);
}

int http_url_read(const char *base, const char *address, struct http_url *ret, struct error *error)
{
    _cleanup_(cleanup_p) CURLU *url = curl_url();
    _cleanup_free_ char *scheme = NULL, *user = NULL, *password = NULL, *host = NULL;

    if (!url)
        abort();
    if ((base && curl_url_set(url, CURLUPART_URL, base, 0) != CURLUE_OK) ||
        curl_url_set(url, CURLUPART_URL, address, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
        return refuse(address, "is no address", error);
    scheme = part(url, CURLUPART_SCHEME, 0);
    host = part(url, CURLUPART_HOST, 0);
    user = part(url, CURLUPART_USER, 0);
    password = part(url, CURLUPART_PASSWORD, 0);
    if (!str_equal(scheme, "https"))
        return refuse(address, "does not begin with https://", error);
    if (!host || !*host)
        return refuse(address, "has no host", error);
    if (user || password)
        return refuse(host, "is given a user or a password in an address", error);
    fill(url, ret);
    return 0;
}

void http_url_done(struct http_url *url)
{
    free(url->whole);
    free(url->origin);
    free(url->host);
    free(url->path);
    free(url->shown);
    *url = (struct http_url){0};
}
