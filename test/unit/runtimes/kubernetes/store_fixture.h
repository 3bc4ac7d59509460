/* The store in a namespace of a real API server (live.h), and how it is damaged. */
#ifndef TEST_UNIT_RUNTIMES_KUBERNETES_STORE_FIXTURE_H
#define TEST_UNIT_RUNTIMES_KUBERNETES_STORE_FIXTURE_H

#include "runtimes/kubernetes/store_private.h"
#include "test/unit/runtimes/kubernetes/live.h"
#include "test/unit/runtimes/kubernetes/states.h"

#define LARGE   (2u << 20) /* bytes of noise: three chunks of each part */
#define MAPS    "/api/v1/namespaces/@/configmaps"
#define SECRETS "/api/v1/namespaces/@/secrets"

struct fixture {
    struct live live;
    struct state_store *store;
    struct state_key key;
    char head[STATE_NAME_SIZE];
    struct error error; /* of the last call */
};

bool fixture_begin(struct fixture *fixture); /* false: no server */
void fixture_end(struct fixture *fixture);
/* From here on State is that of another Spec. */
void fixture_turn_to(struct fixture *fixture, const char *spec_name);
/* As a new process has it. */
void fixture_start_again(struct fixture *fixture);

struct state *fixture_make(const struct fixture *fixture, unsigned seed, size_t bytes, bool secret);
int fixture_save(struct fixture *fixture, const struct state *state, char **version);
/* As far as a save gets that is killed before it swaps the head. */
void fixture_begin_to_save(struct fixture *fixture, const struct state *state);
int fixture_load(struct fixture *fixture, struct state **ret, char **ret_version);
void fixture_expect(struct fixture *fixture, const struct state *expected, const char *note);
int fixture_remove(struct fixture *fixture, const char *version);

/* How many of State's objects there are, heads included. */
size_t fixture_count(struct fixture *fixture, const char *collection);
/* The name of the one that ends so ("-o1"); free(). */
char *fixture_chunk(struct fixture *fixture, const char *collection, const char *suffix);

enum damage { MISSING, OVERWRITTEN, OVERWRITTEN_WITHOUT_CHECKSUM, MERGED };
/* merge: into the object at the path, where it is MERGED. */
void fixture_damage(struct fixture *fixture, const char *path, enum damage how, const char *merge);

#endif
