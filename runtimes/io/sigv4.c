#include "runtimes/io/sigv4.h"

#include <string.h>

#include "engine/base/hash.h"
#include "engine/base/str.h"
#include "engine/base/timestamp.h"

#define ALGORITHM  "AWS4-HMAC-SHA256"
#define TERMINATOR "aws4_request"
#define DAY_LENGTH 8 /* 20130524 */

void sigv4_date(int64_t now, char ret[SIGV4_DATE_SIZE])
{
    char text[TIMESTAMP_SIZE];
    size_t length = 0;

    timestamp_format(now, text);
    for (const char *c = text; *c && length < SIGV4_DATE_SIZE - 1; c++)
        if (*c != '-' && *c != ':')
            ret[length++] = *c;
    ret[length] = '\0';
}

static void hash_request(const struct sigv4_request *request, const char *names,
                         char ret_hex[HASH_HEX_SIZE])
{
    _cleanup_buf_ struct buf text = BUF_INIT;

    buf_printf(&text, "%s\n%s\n%s\n", request->method, request->path, request->query);
    for (size_t i = 0; i < request->n_headers; i++)
        buf_printf(&text, "%s:%s\n", request->headers[i].name, request->headers[i].value);
    buf_printf(&text, "\n%s\n%s", names, request->body_hash);
    hash_hex(text.data, text.length, ret_hex);
}

static char *signed_names(const struct sigv4_request *request)
{
    _cleanup_buf_ struct buf names = BUF_INIT;

    for (size_t i = 0; i < request->n_headers; i++)
        buf_printf(&names, "%s%s", i ? ";" : "", request->headers[i].name);
    return buf_take(&names);
}

static void hmac(const void *key, size_t key_length, const char *text, size_t length,
                 unsigned char ret[HASH_SIZE])
{
    _cleanup_(hash_free_p) struct hash *hash = hash_new_keyed(key, key_length);

    hash_add(hash, text, length);
    hash_finish(hash, ret);
}

/* The key of one day, region and service. */
static void derive_key(const struct sigv4_key *key, const char *date, unsigned char ret[HASH_SIZE])
{
    _cleanup_(str_free_secret_p) char *secret = str_printf("AWS4%s", key->secret_key);
    unsigned char day[HASH_SIZE], region[HASH_SIZE], service[HASH_SIZE];

    hmac(secret, strlen(secret), date, DAY_LENGTH, day);
    hmac(day, HASH_SIZE, key->region, strlen(key->region), region);
    hmac(region, HASH_SIZE, key->service, strlen(key->service), service);
    hmac(service, HASH_SIZE, TERMINATOR, strlen(TERMINATOR), ret);
    explicit_bzero(day, sizeof(day));
    explicit_bzero(region, sizeof(region));
    explicit_bzero(service, sizeof(service));
}

char *sigv4_authorization(const struct sigv4_request *request, const struct sigv4_key *key,
                          const char *date)
{
    _cleanup_free_ char *names = signed_names(request), *scope = NULL, *text = NULL;
    _cleanup_buf_ struct buf result = BUF_INIT;
    unsigned char signing_key[HASH_SIZE], signature[HASH_SIZE];
    char hash[HASH_HEX_SIZE];

    hash_request(request, names, hash);
    scope = str_printf("%.*s/%s/%s/" TERMINATOR, DAY_LENGTH, date, key->region, key->service);
    text = str_printf(ALGORITHM "\n%s\n%s\n%s", date, scope, hash);
    derive_key(key, date, signing_key);
    hmac(signing_key, HASH_SIZE, text, strlen(text), signature);
    explicit_bzero(signing_key, sizeof(signing_key));
    buf_printf(&result,
               ALGORITHM " Credential=%s/%s, SignedHeaders=%s, Signature=", key->access_key, scope,
               names);
    for (size_t i = 0; i < HASH_SIZE; i++)
        buf_printf(&result, "%02x", (unsigned)signature[i]);
    return buf_take(&result);
}
