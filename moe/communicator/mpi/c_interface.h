#pragma once

// MPI's C interface alone: its C++ one has been withdrawn.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
