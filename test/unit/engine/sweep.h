#pragma once

/*
 * Sweeps: what a test does is killed after its nth write, or cut off after its nth byte, for each
 * n. hack/test tries a sample, every third n; rows of a table begin at different ones. hack/soak
 * unit tries each n (KUSION_TEST_LONG). So it is with what is tried many times, at chance moments.
 */

/* The first n, from 1, of a row, from 0. */
unsigned sweep_first(unsigned row);

/* The one after n. */
unsigned sweep_next(unsigned n);

/* How many times, of those of hack/soak unit. */
unsigned sweep_times(unsigned all);
