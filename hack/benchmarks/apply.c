/*
 * The least that server-side applies can cost: libcurl alone, HTTP/2 on one connection, so many
 * in flight, no thought given to anything. apply.py compares the operator with it.
 *
 *   bench_apply COLLECTION-URL NAME-PREFIX FOLDER IN-FLIGHT
 *
 * FOLDER holds ca.crt, client.crt, client.key and `objects`, a line of JSON for each; line i
 * (from 0) is applied at COLLECTION-URL/NAME-PREFIX and four digits. Prints the seconds that it
 * took.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"

#define MAX_IN_FLIGHT 100
#define NUMBER_FORMAT "%04d"

struct loop {
    const char *collection, *prefix; /* the name before its number */
    char *ca, *certificate, *key;
    FILE *objects;
    int next;
    CURLM *multi;
    struct curl_slist *headers;
    struct slot {
        CURL *easy;
        char *line;
        size_t capacity;
    } slots[MAX_IN_FLIGHT];
};

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench_apply: %s: %s\n", what, why);
    exit(1);
}

static size_t discard(char *data, size_t size, size_t n, void *arg)
{
    (void)data;
    (void)arg;
    return size * n;
}

static CURL *easy_new(const struct loop *loop, struct slot *slot)
{
    CURL *easy = curl_easy_init();

    curl_easy_setopt(easy, CURLOPT_CAINFO, loop->ca);
    curl_easy_setopt(easy, CURLOPT_SSLCERT, loop->certificate);
    curl_easy_setopt(easy, CURLOPT_SSLKEY, loop->key);
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 128L * 1024);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "PATCH");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, loop->headers);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, discard);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, slot);
    return easy;
}

/* Whether there was one. */
static bool begin_next(struct loop *loop, struct slot *slot)
{
    ssize_t length = getline(&slot->line, &slot->capacity, loop->objects);
    _cleanup_free_ char *url = NULL;

    if (length < 0)
        return false;
    url = str_printf("%s/%s" NUMBER_FORMAT "?fieldManager=bench&force=true", loop->collection,
                     loop->prefix, loop->next++);
    if (!slot->easy)
        slot->easy = easy_new(loop, slot);
    curl_easy_setopt(slot->easy, CURLOPT_URL, url);
    curl_easy_setopt(slot->easy, CURLOPT_POSTFIELDSIZE, (long)length);
    curl_easy_setopt(slot->easy, CURLOPT_POSTFIELDS, slot->line);
    curl_multi_add_handle(loop->multi, slot->easy);
    return true;
}

static void take_result(struct loop *loop, const CURLMsg *message, int *in_flight)
{
    CURL *easy = message->easy_handle;
    struct slot *slot = NULL;
    long code = 0;

    if (message->data.result != CURLE_OK)
        die("a request", curl_easy_strerror(message->data.result));
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    if (code != 200 && code != 201)
        die("a request", "the answer is neither 200 nor 201");
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &slot);
    curl_multi_remove_handle(loop->multi, easy);
    if (!begin_next(loop, slot))
        --*in_flight;
}

static void run(struct loop *loop, int parallelism)
{
    int in_flight = 0, running, left;
    CURLMsg *message;

    while (in_flight < parallelism && begin_next(loop, &loop->slots[in_flight]))
        in_flight++;
    while (in_flight) {
        curl_multi_perform(loop->multi, &running);
        while ((message = curl_multi_info_read(loop->multi, &left)))
            if (message->msg == CURLMSG_DONE)
                take_result(loop, message, &in_flight);
        if (in_flight)
            curl_multi_poll(loop->multi, NULL, 0, 1000, NULL);
    }
}

static void finish(struct loop *loop)
{
    for (size_t i = 0; i < MAX_IN_FLIGHT; i++) {
        curl_easy_cleanup(loop->slots[i].easy);
        free(loop->slots[i].line);
    }
    curl_multi_cleanup(loop->multi);
    curl_slist_free_all(loop->headers);
    fclose(loop->objects);
    free(loop->ca);
    free(loop->certificate);
    free(loop->key);
}

int main(int argc, char **argv)
{
    _cleanup_free_ char *path = NULL;
    struct loop loop = {0};
    int64_t in_flight;
    double started;

    if (argc != 5 || !str_to_int64(argv[4], &in_flight) || in_flight < 1 ||
        in_flight > MAX_IN_FLIGHT)
        die("usage", "bench_apply COLLECTION-URL NAME-PREFIX FOLDER IN-FLIGHT");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    path = str_printf("%s/objects", argv[3]);
    loop = (struct loop){
        .collection = argv[1],
        .prefix = argv[2],
        .ca = str_printf("%s/ca.crt", argv[3]),
        .certificate = str_printf("%s/client.crt", argv[3]),
        .key = str_printf("%s/client.key", argv[3]),
        .objects = fopen(path, "re"),
        .multi = curl_multi_init(),
        .headers = curl_slist_append(NULL, "Content-Type: application/apply-patch+yaml"),
    };
    if (!loop.objects)
        die(path, "cannot be read");
    curl_multi_setopt(loop.multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    started = now_s();
    run(&loop, (int)in_flight);
    printf("%.3f\n", now_s() - started);
    finish(&loop);
    return 0;
}
