/*
 * Approved plans as values, for stores and Releases:
 *
 *   {"format": 2, "digest": "<the plan's>", "seal": "<digest of what is shown>",
 *    "steps": [{"id", "type", "action", "leaves", "createFirst", "hasUnknown",
 *               "made", "removed", "unknown", "shown", "assigned"}]}
 *
 * "unknown" and "assigned" are JSON pointers (change_digest, digest_shown). Members that say
 * nothing are left out. A reader needs the key: it computes the digest and the seal anew, and takes
 * nothing that was changed since. It is strict: a member that is not known, missing, or of another
 * type is ERR_CORRUPT.
 *
 * A plan of which no creation shows anything is of format 1, which has no "seal", "shown" and
 * "assigned". Versions that do not know format 2 wrote that for all plans: such an approval holds,
 * and what its creations show is not compared.
 *
 * The value is kept where others may write. A valid value may be another one: of an earlier plan,
 * or of another Spec's. So the reader also needs the digest that was approved, from where the
 * approval itself is. A digest has no Spec in it: the caller sees to it that the approval is the
 * Spec's.
 */
#pragma once

#include "engine/plan/approved.h"

#define APPROVED_FORMAT 2

/* A reference; NULL: past a bound of limits.h. */
const struct value *approved_plan_to_value(const struct approved_plan *approved);

/* digest: the one that was approved. ERR_CORRUPT PlanCorrupt: it is damaged, or another plan;
 * ERR_UNSUPPORTED: of a format that this version does not read. */
int approved_plan_from_value(const struct value *value, const void *key, size_t key_length,
                             const char *digest, struct approved_plan **ret, struct error *error);
