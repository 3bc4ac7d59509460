/*
 * Specs as a table shows them, from the server's Table
 * (https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables). It
 * has the metadata and the columns of the CRD, not the resources: a list of many Specs is a
 * fraction of the bytes.
 */
#pragma once

#include "cli/online/objects.h"

/* As spec_list(), but a Spec has only: metadata, spec.suspend, status, reason (no message) of the
 * conditions Ready and Reconciling, and of the status objects, summary, lastAppliedRevision,
 * observedGeneration and driftCorrections.count. Where the CRD of the cluster lacks one of these
 * columns, or the server has no Tables, the Specs are whole. */
int spec_list_table(struct session *session, const char *namespace_name, const char *labels,
                    struct objects *ret, struct error *error);
