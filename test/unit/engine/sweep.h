#pragma once

/*
 * Sweeps: what a test does is killed after its nth write, or cut off after its nth byte, for each
 * n. hack/test tries a sample, every third n; rows of a table begin at different ones. hack/soak
 * unit tries each n (KUSION_TEST_LONG).
 */

/* The first n, from 1, of a row, from 0. */
unsigned sweep_first(unsigned row);

/* The one after n. */
unsigned sweep_next(unsigned n);
