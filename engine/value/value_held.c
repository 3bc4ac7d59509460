#include "engine/value/value_held.h"

#include <string.h>

#include "engine/base/mem.h"
#include "engine/value/value_private.h"

#define KEPT_SLOTS 256

void held_done(struct held *held)
{
    free(held->slots);
}

static void empty(struct held *held)
{
    if (held->n_slots > KEPT_SLOTS) {
        free(held->slots);
        held->slots = NULL;
        held->n_slots = 0;
    } else if (held->n_slots) {
        memset(held->slots, 0, held->n_slots * sizeof(struct document *));
    }
    held->count = 0;
    held->last = NULL;
}

static size_t slot_of(const struct held *held, const struct document *document)
{
    uint64_t hash = (uint64_t)(uintptr_t)document * 0x9e3779b97f4a7c15u;
    size_t slot = (size_t)(hash >> 32) & (held->n_slots - 1);

    while (held->slots[slot] && held->slots[slot] != document)
        slot = (slot + 1) & (held->n_slots - 1);
    return slot;
}

static void grow(struct held *held)
{
    struct document **before = held->slots;
    size_t n_before = held->n_slots;

    held->n_slots = n_before ? n_before * 2 : 16;
    held->slots = NEW_ARRAY(struct document *, held->n_slots);
    for (size_t i = 0; i < n_before; i++)
        if (before[i])
            held->slots[slot_of(held, before[i])] = before[i];
    free(before);
}

void held_add(struct held *held, struct document *document)
{
    size_t slot;

    if (!document || document == held->last)
        return;
    if (2 * (held->count + 1) > held->n_slots)
        grow(held);
    slot = slot_of(held, document);
    held->last = document;
    if (held->slots[slot])
        return;
    document_ref(document);
    held->slots[slot] = document;
    held->count++;
}

void held_release(struct held *held)
{
    for (size_t i = 0; i < held->n_slots; i++)
        if (held->slots[i])
            document_unref(held->slots[i]);
    empty(held);
}

void held_hand_over(struct held *held, struct document *document)
{
    if (!held->count)
        return;
    document->held = ARENA_ARRAY(&document->arena, struct document *, held->count);
    for (size_t i = 0; i < held->n_slots; i++)
        if (held->slots[i])
            document->held[document->n_held++] = held->slots[i];
    empty(held);
}
