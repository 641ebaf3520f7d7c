! fortran_sampler_mpi4.F90 - calls of MPI-4 in Fortran, on 2 ranks: partitioned sends, a communicator from
! a group. Compiled in three dialects; test_fortran.py has the expected records.
#ifdef MPI_F08
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif

program fortran_sampler_mpi4
#if defined(MPI_F08)
  use mpi_f08
  implicit none
#elif defined(MPIF_H)
  implicit none
  include 'mpif.h'
#else
  use mpi
  implicit none
#endif
  integer :: rank, ierror
  integer :: buffer(100) = 0, incoming(100) = 0

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call partitioned()
  call from_group()
  call MPI_Finalize(ierror)

contains

  ! Twice 4 partitions of 5 integers to the other rank.
  subroutine partitioned()
    HANDLE(MPI_Request) :: requests(2)
    ! The module mpi of MPICH 4.0 declares this argument of MPI_Parrived as an integer.
#if defined(MPI_F08) || defined(MPIF_H)
    logical :: arrived
#else
    integer :: arrived
#endif
    integer(MPI_COUNT_KIND) :: five
    integer :: round
    five = 5
    call MPI_Precv_init(incoming, 4, five, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &
      requests(1), ierror)
    call MPI_Psend_init(buffer, 4, five, MPI_INTEGER, 1 - rank, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &
      requests(2), ierror)
    do round = 1, 2
      call MPI_Startall(2, requests, ierror)
      call MPI_Pready(0, requests(2), ierror)
      call MPI_Pready_range(1, 2, requests(2), ierror)
      call MPI_Pready_list(1, [3], requests(2), ierror)
      call MPI_Parrived(requests(1), 0, arrived, ierror)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    end do
    call MPI_Request_free(requests(1), ierror)
    call MPI_Request_free(requests(2), ierror)
  end subroutine partitioned

  ! Members 1, 0; a broadcast of 12 bytes by its rank 0.
  subroutine from_group()
    HANDLE(MPI_Group) :: world, group
    HANDLE(MPI_Comm) :: comm
    call MPI_Comm_group(MPI_COMM_WORLD, world, ierror)
    call MPI_Group_incl(world, 2, [1, 0], group, ierror)
    call MPI_Comm_create_from_group(group, "sampler", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, comm, ierror)
    call MPI_Bcast(buffer, 3, MPI_INTEGER, 0, comm, ierror)
    call MPI_Comm_free(comm, ierror)
    call MPI_Group_free(group, ierror)
    call MPI_Group_free(world, ierror)
  end subroutine from_group

end program fortran_sampler_mpi4
