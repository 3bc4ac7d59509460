/*
 * Damages documents of chains, for the contract of stores (store_contract.h): over any objects.
 */
#pragma once

#include "runtimes/chain/objects.h"
#include "test/unit/engine/store_contract.h"

/* As the function of a store_fixture. */
bool chain_damage(struct objects *objects, const struct document_name *name, enum damage_part part,
                  enum damage_how how, char **ret);
