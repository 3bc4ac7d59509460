/*
 * status.inventory of a Spec: the objects that State knows.
 */
#pragma once

#include "controller/reconcile/records/context.h"

/* Resources that a Spec's inventory names, and bytes. */
#define INVENTORY_ENTRIES 100
#define INVENTORY_BYTES   (16u << 10)

/* Spec's {total, entries: [{id, type}], omitted}: the objects that exist, or may exist, by State,
 * but for those that have done their work and remove themselves. First those that State alone knows
 * (recall.h). */
const struct value *inventory_value(const struct reconcile_context *context, struct ledger *ledger);
