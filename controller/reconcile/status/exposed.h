/*
 * Secrets whose values are in clear in a Spec. Specs are not encrypted as Secrets are, and more
 * people can read them; the status says so, and nothing fails for it.
 */
#pragma once

#include "engine/value/value.h"

/* Those of ConfigMaps that it names (`resourcesFrom`) count as in the Spec; those of Secrets do
 * not.
 *
 * The message for the condition SecretsInClear: how many Secrets, and the ids of the first.
 * resources: those of a Spec, perhaps not valid. free(). NULL: there is no such Secret. */
char *exposed_secrets(const struct value *resources);
