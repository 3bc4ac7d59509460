#include "controller/reconcile/recorded_known.h"

#include <pthread.h>

#include "controller/reconcile/recorded.h"
#include "engine/base/mem.h"
#include "engine/base/str.h"
#include "engine/base/strmap.h"

/* Of one Spec. */
struct known {
    char *key; /* "namespace/name" */
    bool is_known;
    char digest[HASH_HEX_SIZE]; /* if is_known: of the last one that was kept; "": there is none */
    size_t made;                /* since the last sweep */
    bool was_swept;             /* by this process */
};

struct recorded {
    pthread_mutex_t lock;
    struct strmap known; /* by key */
};

struct recorded *recorded_new(void)
{
    struct recorded *recorded = NEW(struct recorded);

    pthread_mutex_init(&recorded->lock, NULL);
    strmap_init(&recorded->known);
    return recorded;
}

static void known_free(struct known *known)
{
    if (!known)
        return;
    free(known->key);
    free(known);
}

void recorded_free(struct recorded *recorded)
{
    if (!recorded)
        return;
    for (struct strmap_entry *e = NULL; (e = strmap_next(&recorded->known, e));)
        known_free(e->value);
    strmap_done(&recorded->known);
    pthread_mutex_destroy(&recorded->lock);
    free(recorded);
}

static char *key_of(const struct spec_key *spec)
{
    return str_printf("%s/%s", spec->namespace_name, spec->name);
}

/* Under the lock. */
static struct known *get_known(struct recorded *recorded, const struct spec_key *spec)
{
    char *key = key_of(spec);
    struct known *known = strmap_get(&recorded->known, key);

    if (!known) {
        known = NEW(struct known);
        known->key = TAKE(key);
        strmap_put(&recorded->known, known->key, known);
    }
    free(key);
    return known;
}

bool recorded_was_kept(struct recorded *recorded, const struct spec_key *spec, const char *digest)
{
    _cleanup_free_ char *key = key_of(spec);
    const struct known *known;
    bool was;

    pthread_mutex_lock(&recorded->lock);
    known = strmap_get(&recorded->known, key);
    was = known && known->is_known && str_equal(known->digest, digest);
    pthread_mutex_unlock(&recorded->lock);
    return was;
}

void recorded_note_made(struct recorded *recorded, const struct spec_key *spec, const char *digest)
{
    struct known *known;

    pthread_mutex_lock(&recorded->lock);
    known = get_known(recorded, spec);
    known->is_known = true;
    str_copy(known->digest, sizeof(known->digest), digest);
    known->made++;
    pthread_mutex_unlock(&recorded->lock);
}

void recorded_note_dropped(struct recorded *recorded, const struct spec_key *spec)
{
    pthread_mutex_lock(&recorded->lock);
    get_known(recorded, spec)->is_known = false;
    pthread_mutex_unlock(&recorded->lock);
}

void recorded_note_none(struct recorded *recorded, const struct spec_key *spec)
{
    struct known *known;

    pthread_mutex_lock(&recorded->lock);
    known = get_known(recorded, spec);
    known->is_known = true;
    known->digest[0] = '\0';
    known->made = 0;
    pthread_mutex_unlock(&recorded->lock);
}

void recorded_note_gone(struct recorded *recorded, const struct spec_key *spec)
{
    _cleanup_free_ char *key = key_of(spec);

    pthread_mutex_lock(&recorded->lock);
    known_free(strmap_remove(&recorded->known, key));
    pthread_mutex_unlock(&recorded->lock);
}

bool recorded_sweep_is_due(struct recorded *recorded, const struct spec_key *spec, size_t limit)
{
    _cleanup_free_ char *key = key_of(spec);
    struct known *known;
    bool is_due;

    pthread_mutex_lock(&recorded->lock);
    known = strmap_get(&recorded->known, key);
    is_due = known && (known->made > limit || (known->made && !known->was_swept));
    if (is_due) {
        known->made = 0;
        known->was_swept = true;
    }
    pthread_mutex_unlock(&recorded->lock);
    return is_due;
}
