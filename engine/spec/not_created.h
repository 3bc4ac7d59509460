/*
 * A resource's extension `kusionstack.io/not-created: REVISION`: whoever writes it has looked, and
 * says that the creation which that revision began, and whose outcome nobody knows, did not happen.
 * It counts for that one creation, so that it may stay.
 */
#ifndef ENGINE_SPEC_NOT_CREATED_H
#define ENGINE_SPEC_NOT_CREATED_H

#define NOT_CREATED "kusionstack.io/not-created"

#endif
