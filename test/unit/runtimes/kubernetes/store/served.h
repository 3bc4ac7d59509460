/*
 * A document in an API server: each test of it runs over a server in memory, and over a real one,
 * if there is one (live.h).
 */
#pragma once

#include "runtimes/kubernetes/store/documents_private.h"
#include "test/unit/runtimes/kubernetes/client/live.h"

#define SERVED_LARGE   (2u << 20) /* bytes: three chunks of a part */
#define SERVED_MAPS    "/api/v1/namespaces/@/configmaps"
#define SERVED_SECRETS "/api/v1/namespaces/@/secrets"

struct served {
    struct live live;
    struct store *store;
    struct document_name name; /* the State of team/web */
    struct store_file *file;   /* open to write */
    char head[KUBE_DOCUMENT_NAME_SIZE];
    struct error error; /* of the last call below */
};

/* The store, as a process has it that begins now. arg: the struct live. */
struct store *served_attach(void *arg);

void served_run(void (*test)(struct served *scene), bool (*start)(struct live *live));
#define ON_EACH_SERVER(test)                    \
    static void test##_in_memory(void)          \
    {                                           \
        served_run(test, live_start_in_memory); \
    }                                           \
    static void test##_live(void)               \
    {                                           \
        served_run(test, live_start);           \
    }

/* The process ends; the next one has read the document. */
void served_start_again(struct served *scene);

/* Parts of so many bytes, which the seed decides. */
int served_write(struct served *scene, size_t open, size_t secret, unsigned seed);
int served_append(struct served *scene, const char *text);
int served_read(struct served *scene);
struct task served_task(struct served *scene);
void served_fill(struct buf *to, size_t length, unsigned seed);

/* How many ConfigMaps or Secrets of documents there are. */
size_t served_count(struct served *scene, const char *collection);
/* The name of an object of the document whose head has this name, that has a text in it; free(), or
 * NULL. */
char *served_find(struct live *live, const char *collection, const char *head, const char *text);
