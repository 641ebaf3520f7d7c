! fortran_sampler.F90 - calls whose arguments need care in Fortran, on 4 ranks: MPI_IN_PLACE, handles,
! arrays of datatypes, requests that change, communicators. Compiled in three dialects, as
! examples/transpose.F90 is; test_fortran.py has the expected records.
#ifdef MPI_F08
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif

! Persistent collectives are an extension of Open MPI 4.
#ifdef OPEN_MPI_4
#define BARRIER_INIT MPIX_Barrier_init
#define BCAST_INIT MPIX_Bcast_init
#define ALLGATHER_INIT MPIX_Allgather_init
#define ALLTOALLV_INIT MPIX_Alltoallv_init
#else
#define BARRIER_INIT MPI_Barrier_init
#define BCAST_INIT MPI_Bcast_init
#define ALLGATHER_INIT MPI_Allgather_init
#define ALLTOALLV_INIT MPI_Alltoallv_init
#endif

program fortran_sampler
  use, intrinsic :: iso_c_binding, only: c_ptr
#if defined(MPI_F08)
  use mpi_f08
#ifdef OPEN_MPI_4
  use mpi_f08_ext
#endif
  implicit none
#elif defined(MPIF_H)
  implicit none
  include 'mpif.h'
#else
  use mpi
  implicit none
#endif
  integer :: rank, ranks, provided, ierror, next, previous
  integer :: buffer(100) = 0, incoming(100) = 0

  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  next = modulo(rank + 1, ranks)
  previous = modulo(rank - 1, ranks)
  call sends()
  call persistent_sends()
  call completion()
  call collectives_in_place()
  call collectives_with_arrays()
  call communicators()
  call neighbourhood()
  call declarations()
  call persistent_collectives()
  call one_sided()
  call MPI_Finalize(ierror)

contains

  ! To the next rank: 4, 8, 12, 16 bytes, and 40 to the previous one.
  subroutine sends()
    HANDLE(MPI_Request) :: request
    call MPI_Irecv(incoming, 100, MPI_INTEGER, previous, 1, MPI_COMM_WORLD, request, ierror)
    call MPI_Send(buffer, 1, MPI_INTEGER, next, 1, MPI_COMM_WORLD, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Irecv(incoming, 100, MPI_INTEGER, previous, 1, MPI_COMM_WORLD, request, ierror)
    call MPI_Ssend(buffer, 2, MPI_INTEGER, next, 1, MPI_COMM_WORLD, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Sendrecv(buffer, 3, MPI_INTEGER, next, 1, incoming, 3, MPI_INTEGER, previous, 1, &
      MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Isend(buffer, 4, MPI_INTEGER, next, 1, MPI_COMM_WORLD, request, ierror)
    call MPI_Recv(incoming, 4, MPI_INTEGER, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Sendrecv_replace(buffer, 10, MPI_INTEGER, previous, 1, next, 1, MPI_COMM_WORLD, &
      MPI_STATUS_IGNORE, ierror)
    call MPI_Send(buffer, 10, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, ierror)
  end subroutine sends

  ! To the next rank: 3 times 20 and 3 times 24 bytes.
  subroutine persistent_sends()
    HANDLE(MPI_Request) :: requests(4)
    integer :: i
    call MPI_Recv_init(incoming(1), 5, MPI_INTEGER, previous, 2, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Send_init(buffer(1), 5, MPI_INTEGER, next, 2, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Recv_init(incoming(11), 6, MPI_INTEGER, previous, 3, MPI_COMM_WORLD, requests(3), ierror)
    call MPI_Ssend_init(buffer(11), 6, MPI_INTEGER, next, 3, MPI_COMM_WORLD, requests(4), ierror)
    do i = 1, 2
      call MPI_Startall(4, requests, ierror)
      call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
    end do
    do i = 1, 4
      call MPI_Start(requests(i), ierror)
    end do
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
    do i = 1, 4
      call MPI_Request_free(requests(i), ierror)
    end do
  end subroutine persistent_sends

  ! To the next rank: 4 times 28 bytes.
  subroutine completion()
    HANDLE(MPI_Request) :: requests(2)
    integer :: i, index, count, indices(2)
    logical :: done
#ifdef MPI_F08
    type(MPI_Status) :: status
#else
    integer :: status(MPI_STATUS_SIZE)
#endif
    do i = 1, 4
      call MPI_Isend(buffer, 7, MPI_INTEGER, next, 4, MPI_COMM_WORLD, requests(1), ierror)
      call MPI_Probe(previous, 4, MPI_COMM_WORLD, status, ierror)
      call MPI_Irecv(incoming, 7, MPI_INTEGER, previous, 4, MPI_COMM_WORLD, requests(2), ierror)
      done = .false.
      select case (i)
      case (1)
        call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE, ierror)
        call MPI_Waitsome(2, requests, count, indices, MPI_STATUSES_IGNORE, ierror)
      case (2)
        do while (.not. done)
          call MPI_Testall(2, requests, done, MPI_STATUSES_IGNORE, ierror)
        end do
      case (3)
        do while (.not. done)
          call MPI_Test(requests(1), done, MPI_STATUS_IGNORE, ierror)
        end do
        call MPI_Wait(requests(2), status, ierror)
      case (4)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
      end select
    end do
  end subroutine completion

  ! With MPI_IN_PLACE, the bytes are those of the receive arguments.
  subroutine collectives_in_place()
    integer, parameter :: counts(4) = [1, 2, 3, 4], displacements(4) = [0, 10, 20, 30]
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, 3, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, counts, displacements, MPI_INTEGER, &
      MPI_COMM_WORLD, ierror)
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, 5, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    if (rank == 2) then
      call MPI_Gather(MPI_IN_PLACE, 0, MPI_INTEGER, buffer, 6, MPI_INTEGER, 2, MPI_COMM_WORLD, ierror)
      call MPI_Gatherv(MPI_IN_PLACE, 0, MPI_INTEGER, buffer, counts, displacements, MPI_INTEGER, 2, &
        MPI_COMM_WORLD, ierror)
      call MPI_Scatter(buffer, 7, MPI_INTEGER, MPI_IN_PLACE, 7, MPI_INTEGER, 2, MPI_COMM_WORLD, ierror)
    else
      call MPI_Gather(buffer, 6, MPI_INTEGER, incoming, 6, MPI_INTEGER, 2, MPI_COMM_WORLD, ierror)
      call MPI_Gatherv(buffer, counts(rank + 1), MPI_INTEGER, incoming, counts, displacements, &
        MPI_INTEGER, 2, MPI_COMM_WORLD, ierror)
      call MPI_Scatter(buffer, 7, MPI_INTEGER, incoming, 7, MPI_INTEGER, 2, MPI_COMM_WORLD, ierror)
    end if
  end subroutine collectives_in_place

  ! Rank r sends r + 1 integers to each rank.
  subroutine collectives_with_arrays()
    HANDLE(MPI_Datatype) :: types(4)
    HANDLE(MPI_Request) :: request
    integer :: send(4), receive(4), displacements(4), i
    send = rank + 1
    receive = [1, 2, 3, 4]
    displacements = [0, 10, 20, 30]
    call MPI_Alltoallv(buffer, send, displacements, MPI_INTEGER, incoming, receive, displacements, &
      MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call MPI_Ialltoallv(buffer, send, displacements, MPI_INTEGER, incoming, receive, displacements, &
      MPI_INTEGER, MPI_COMM_WORLD, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    do i = 1, 4
      types(i) = MPI_INTEGER
    end do
    displacements = 4 * displacements
    call MPI_Alltoallw(buffer, send, displacements, types, incoming, receive, displacements, types, &
      MPI_COMM_WORLD, ierror)
    call MPI_Reduce_scatter(buffer, incoming, receive, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Ibarrier(MPI_COMM_WORLD, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  end subroutine collectives_with_arrays

  ! Each has a broadcast of 8, 12, 16, ... bytes by its rank 0.
  subroutine communicators()
    HANDLE(MPI_Comm) :: half, copy, pending, inter, merged
    HANDLE(MPI_Request) :: request
    integer :: remote_leader
    call MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, half, ierror)
    call MPI_Bcast(buffer, 2, MPI_INTEGER, 0, half, ierror)
    call MPI_Comm_dup(half, copy, ierror)
    call MPI_Bcast(buffer, 3, MPI_INTEGER, 0, copy, ierror)
    call MPI_Comm_idup(half, pending, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Bcast(buffer, 4, MPI_INTEGER, 0, pending, ierror)
    remote_leader = 3
    if (rank >= 2) remote_leader = 1
    call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, remote_leader, 5, inter, ierror)
    call MPI_Intercomm_merge(inter, rank >= 2, merged, ierror)
    call MPI_Bcast(buffer, 5, MPI_INTEGER, 0, merged, ierror)
    call MPI_Comm_free(merged, ierror)
    call MPI_Comm_free(inter, ierror)
    call MPI_Comm_free(pending, ierror)
    call MPI_Comm_free(copy, ierror)
    call MPI_Comm_free(half, ierror)
  end subroutine communicators

  ! Both neighbours in a periodic line of 4 ranks get 4 bytes.
  subroutine neighbourhood()
    HANDLE(MPI_Comm) :: ring
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, ierror)
    call MPI_Neighbor_alltoall(buffer, 1, MPI_INTEGER, incoming, 1, MPI_INTEGER, ring, ierror)
    call MPI_Comm_free(ring, ierror)
  end subroutine neighbourhood

  ! Each rank sends to the next rank with weight 7 and to the one after with weight 9; a grid.
  subroutine declarations()
    HANDLE(MPI_Comm) :: graph, grid
    integer :: sources(2), destinations(2)
    sources = [modulo(rank - 1, ranks), modulo(rank - 2, ranks)]
    destinations = [next, modulo(rank + 2, ranks)]
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, sources, [7, 9], 2, destinations, [7, 9], &
      MPI_INFO_NULL, .false., graph, ierror)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [2, 2], [.true., .false.], .false., grid, ierror)
    call MPI_Comm_free(grid, ierror)
    call MPI_Comm_free(graph, ierror)
  end subroutine declarations

  ! Each is started twice, in a new communicator: a broadcast of 44 bytes by rank 1, a barrier,
  ! 12 bytes of each rank gathered, and to each rank r + 1 integers by rank r.
  subroutine persistent_collectives()
    HANDLE(MPI_Comm) :: copy
    HANDLE(MPI_Request) :: requests(1)
    integer :: send(4), receive(4), displacements(4), i
    send = rank + 1
    receive = [1, 2, 3, 4]
    displacements = [0, 10, 20, 30]
    do i = 1, 4
      call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierror)
      select case (i)
      case (1)
        call BCAST_INIT(buffer, 11, MPI_INTEGER, 1, copy, MPI_INFO_NULL, requests(1), ierror)
      case (2)
        call BARRIER_INIT(copy, MPI_INFO_NULL, requests(1), ierror)
      case (3)
        call ALLGATHER_INIT(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, 3, MPI_INTEGER, copy, &
          MPI_INFO_NULL, requests(1), ierror)
      case (4)
        call ALLTOALLV_INIT(buffer, send, displacements, MPI_INTEGER, incoming, receive, displacements, &
          MPI_INTEGER, copy, MPI_INFO_NULL, requests(1), ierror)
        send = 0
      end select
      call MPI_Start(requests(1), ierror)
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
      call MPI_Startall(1, requests, ierror)
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
      call MPI_Request_free(requests(1), ierror)
      call MPI_Comm_free(copy, ierror)
    end do
  end subroutine persistent_collectives

  ! With the next rank: puts of 4, 8, 12, 16, 20, 4 and 4 bytes, gets of 24, 20, 4, 4 and 4 bytes.
  subroutine one_sided()
    integer, asynchronous :: memory(100)
    integer :: results(100)
    integer(MPI_ADDRESS_KIND) :: none, size
    HANDLE(MPI_Win) :: win
    HANDLE(MPI_Request) :: request
#ifdef MPIF_H
    integer(MPI_ADDRESS_KIND) :: allocated
#else
    type(c_ptr) :: allocated
#endif
    memory = 0
    none = 0
    size = 400
    call MPI_Win_create(memory, size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call MPI_Put(buffer, 1, MPI_INTEGER, next, none, 1, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call MPI_Get(incoming, 6, MPI_INTEGER, next, none, 6, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call MPI_Accumulate(buffer, 2, MPI_INTEGER, next, none, 2, MPI_INTEGER, MPI_SUM, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call MPI_Win_free(win, ierror)

    call MPI_Win_allocate(size, 4, MPI_INFO_NULL, MPI_COMM_WORLD, allocated, win, ierror)
    call MPI_Win_lock_all(0, win, ierror)
    call MPI_Rput(buffer, 3, MPI_INTEGER, next, none, 3, MPI_INTEGER, win, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Raccumulate(buffer, 4, MPI_INTEGER, next, none, 4, MPI_INTEGER, MPI_SUM, win, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Get_accumulate(buffer, 5, MPI_INTEGER, results, 5, MPI_INTEGER, next, none, 5, MPI_INTEGER, &
      MPI_SUM, win, ierror)
    call MPI_Win_flush(next, win, ierror)
    call MPI_Fetch_and_op(buffer, results, MPI_INTEGER, next, none, MPI_SUM, win, ierror)
    call MPI_Win_flush_all(win, ierror)
    call MPI_Fetch_and_op(buffer, results, MPI_INTEGER, next, none, MPI_NO_OP, win, ierror)
    call MPI_Win_flush_local(next, win, ierror)
    call MPI_Compare_and_swap(buffer, buffer, results, MPI_INTEGER, next, none, win, ierror)
    call MPI_Win_unlock_all(win, ierror)
    call MPI_Win_free(win, ierror)
  end subroutine one_sided

end program fortran_sampler
