/*
 * A resource's extension `kusionstack.io/not-created: REVISION`: whoever writes it has looked, and
 * says that the object is not there: that the creation which that revision began did not happen
 * (OutcomeUnknown), or that what was lost with State up to that revision does not exist
 * (StateLost). It counts for that one doubt, so that it may stay.
 */
#pragma once

#define NOT_CREATED "kusionstack.io/not-created"
