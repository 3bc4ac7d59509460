#include "engine/state/state.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/str.h"

/* A record's place in the order of adding. */
struct place {
    const struct record *record;
    size_t index;
    size_t key_length;
    char key[]; /* the id; for a deposed object, a NUL and the deposed name follow */
};

struct state {
    struct state_head head;
    struct place **places; /* an entry is NULL where a record was dropped, until the next tidy() */
    size_t n_places, capacity;
    struct strmap by_name; /* the same places, by key */
};

/* ---- Names ---- */

#define KEY_SIZE 256 /* bytes on the stack; longer keys are allocated */

struct key {
    char small[KEY_SIZE];
    char *large;
    const char *text;
    size_t length;
};

static void key_make(struct key *key, const char *id, const char *deposed)
{
    size_t id_length = strlen(id), more = deposed ? strlen(deposed) + 1 : 0;
    char *text = key->small;

    key->length = id_length + more;
    key->large = key->length > KEY_SIZE ? mem_new(key->length) : NULL;
    if (key->large)
        text = key->large;
    memcpy(text, id, id_length);
    if (deposed) {
        text[id_length] = '\0';
        memcpy(text + id_length + 1, deposed, more - 1);
    }
    key->text = text;
}

static void key_done(struct key *key)
{
    free(key->large);
}

/* ---- Life ---- */

void state_head_copy(struct state_head *ret, const struct state_head *head)
{
    *ret = *head;
    ret->spec_namespace = str_new(head->spec_namespace);
    ret->spec_name = str_new(head->spec_name);
    ret->spec_uid = str_new(head->spec_uid);
    ret->operation_uid = str_new(head->operation_uid);
    ret->place = str_new(head->place);
    value_ref(head->policy);
    value_ref(head->hold);
}

void state_head_done(struct state_head *head)
{
    free((char *)(uintptr_t)head->spec_namespace);
    free((char *)(uintptr_t)head->spec_name);
    free((char *)(uintptr_t)head->spec_uid);
    free((char *)(uintptr_t)head->operation_uid);
    free((char *)(uintptr_t)head->place);
    value_unref(head->policy);
    value_unref(head->hold);
    *head = (struct state_head){0};
}

void state_set_head(struct state *state, const struct state_head *head)
{
    struct state_head before = state->head;

    state_head_copy(&state->head, head);
    state_head_done(&before);
}

bool state_progress(struct state *state, int64_t at)
{
    if (state->head.progressed_at)
        state->head.progressed_at = at;
    return state->head.progressed_at != 0;
}

struct state *state_new(const struct state_head *head)
{
    struct state *state = NEW(struct state);

    strmap_init(&state->by_name);
    state_set_head(state, head);
    return state;
}

static void place_free(struct place *place)
{
    record_unref(place->record);
    free(place);
}

void state_free(struct state *state)
{
    if (!state)
        return;
    for (size_t i = 0; i < state->n_places; i++)
        if (state->places[i])
            place_free(state->places[i]);
    free(state->places);
    strmap_done(&state->by_name);
    state_head_done(&state->head);
    free(state);
}

struct state *state_copy(const struct state *state)
{
    struct state *copy = state_new(&state->head);

    const struct record *record;

    strmap_reserve(&copy->by_name, state->by_name.count);
    for (size_t at = 0; (record = state_next(state, &at));)
        state_put(copy, record);
    return copy;
}

const struct state_head *state_head(const struct state *state)
{
    return &state->head;
}

/* ---- Records ---- */

size_t state_count(const struct state *state)
{
    return state->by_name.count;
}

/* Closes the gaps that dropped records left. */
static void tidy(struct state *state)
{
    size_t count = 0;

    for (size_t i = 0; i < state->n_places; i++)
        if (state->places[i]) {
            state->places[i]->index = count;
            state->places[count++] = state->places[i];
        }
    state->n_places = count;
}

const struct record *state_at(struct state *state, size_t index)
{
    if (state->n_places != state_count(state))
        tidy(state);
    return index < state->n_places ? state->places[index]->record : NULL;
}

const struct record *state_next(const struct state *state, size_t *at)
{
    while (*at < state->n_places) {
        const struct place *place = state->places[(*at)++];

        if (place)
            return place->record;
    }
    return NULL;
}

static struct place *find(const struct state *state, const char *id, const char *deposed)
{
    struct key key;
    struct place *place;

    key_make(&key, id, deposed);
    place = strmap_get_n(&state->by_name, key.text, key.length);
    key_done(&key);
    return place;
}

const struct record *state_find(const struct state *state, const char *id, const char *deposed)
{
    const struct place *place = find(state, id, deposed);

    return place ? place->record : NULL;
}

static struct place *add_place(struct state *state, const struct record *record)
{
    struct place *place;
    struct key key;

    key_make(&key, record->id, record->deposed);
    place = mem_new(sizeof(*place) + key.length);
    memcpy(place->key, key.text, key.length);
    place->key_length = key.length;
    key_done(&key);
    state->places =
        mem_grow(state->places, state->n_places, &state->capacity, sizeof(struct place *));
    place->index = state->n_places;
    state->places[state->n_places++] = place;
    strmap_put_n(&state->by_name, place->key, place->key_length, place);
    return place;
}

void state_put(struct state *state, const struct record *record)
{
    struct place *place = find(state, record->id, record->deposed);
    const struct record *before;

    if (!place)
        place = add_place(state, record);
    before = place->record;
    place->record = record_ref(record);
    record_unref(before);
}

void state_drop(struct state *state, const char *id, const char *deposed)
{
    struct place *place = find(state, id, deposed);

    if (!place)
        return;
    strmap_remove_n(&state->by_name, place->key, place->key_length);
    state->places[place->index] = NULL;
    place_free(place);
    if (state->n_places > 64 && state->n_places > 2 * state_count(state))
        tidy(state);
}
