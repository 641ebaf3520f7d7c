! transpose.F90 - a distributed matrix that is smoothed, transposed and reduced: several kinds of
! communication in one Fortran program, in each of the three dialects of MPI's Fortran interface.
!
!   mpif90 -O2 transpose.F90 -o transpose                  use mpi
!   mpif90 -O2 -DMPI_F08 transpose.F90 -o transpose_f08    use mpi_f08
!   mpif90 -O2 -DMPIF_H transpose.F90 -o transpose_mpif    include 'mpif.h'
!   mpirun -np 4 ./transpose [matrix order] [iterations]
!
! The columns of the matrix are dealt out to the ranks in unequal parts. Every iteration:
!   - halo: the first and last column go to the neighbours by persistent requests (MPI_Startall);
!   - transposition: MPI_Alltoallv of blocks that a derived datatype cuts out of the columns;
!   - inside the lower and the upper half of the ranks (MPI_Comm_split): a column goes round in a
!     ring (MPI_Sendrecv), and the half's sum is found with MPI_Allreduce in place.
! Prints one line; the checksum is the same, bit for bit, for all three dialects.
#ifdef MPI_F08
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif

program transpose_matrix
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
  integer, parameter :: dp = kind(1.0d0)
  integer :: order, iterations, rank, ranks, columns, first, iteration, ierror
  integer, allocatable :: firsts(:)
  real(dp), allocatable :: matrix(:, :), next(:, :)
  HANDLE(MPI_Comm) :: half
  HANDLE(MPI_Request) :: requests(4)
  HANDLE(MPI_Datatype) :: row_type
  real(dp) :: start, checksum

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  order = argument(1, 240)
  iterations = argument(2, 20)
  call deal_out_columns()
  call make_row_type()
  call MPI_Comm_split(MPI_COMM_WORLD, 2 * rank / ranks, rank, half, ierror)
  call make_halo_requests()

  start = MPI_Wtime()
  do iteration = 1, iterations
    call smooth()
    call transpose_columns()
    call normalise()
  end do
  checksum = total()
  if (rank == 0) print '(a,i0,a,i0,a,es24.17,a,f8.3,a)', 'transpose: order ', order, ', ', &
    iterations, ' iterations, checksum ', checksum, ', ', MPI_Wtime() - start, ' s'

  call release()
  call MPI_Finalize(ierror)

contains

  integer function argument(position, default)
    integer, intent(in) :: position, default
    character(len=32) :: text
    argument = default
    call get_command_argument(position, text)
    if (len_trim(text) > 0) read (text, *) argument
  end function argument

  ! Unequal parts: rank r has a share of r + ranks. firsts(r) is the column before its first.
  subroutine deal_out_columns()
    integer :: r, shares, share
    allocate (firsts(0:ranks))
    shares = sum([(r + ranks, r = 0, ranks - 1)])
    share = 0
    do r = 0, ranks
      firsts(r) = order * share / shares
      share = share + r + ranks
    end do
    first = firsts(rank)
    columns = firsts(rank + 1) - first
    ! One column of halo on each side.
    allocate (matrix(order, 0:columns + 1), next(order, 0:columns + 1))
    matrix = 0
    do r = 1, columns
      matrix(:, r) = [(real(mod(37 * share + 13 * (first + r), 101), dp), share = 1, order)]
    end do
  end subroutine deal_out_columns

  ! One element from each of this rank's columns: a row of its part, moved along by one element.
  subroutine make_row_type()
    HANDLE(MPI_Datatype) :: strided
    integer(MPI_ADDRESS_KIND) :: extent
    extent = storage_size(1.0_dp) / 8
    call MPI_Type_vector(columns, 1, order, MPI_DOUBLE_PRECISION, strided, ierror)
    call MPI_Type_create_resized(strided, 0_MPI_ADDRESS_KIND, extent, row_type, ierror)
    call MPI_Type_commit(row_type, ierror)
    call MPI_Type_free(strided, ierror)
  end subroutine make_row_type

  subroutine make_halo_requests()
    integer :: left, right
    left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
    right = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
    call MPI_Recv_init(matrix(1, 0), order, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, &
      requests(1), ierror)
    call MPI_Recv_init(matrix(1, columns + 1), order, MPI_DOUBLE_PRECISION, right, 2, &
      MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Send_init(matrix(1, 1), order, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, &
      requests(3), ierror)
    call MPI_Send_init(matrix(1, columns), order, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, &
      requests(4), ierror)
  end subroutine make_halo_requests

  subroutine smooth()
    integer :: j
    call MPI_Startall(4, requests, ierror)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
    do j = 1, columns
      next(:, j) = 0.25_dp * (matrix(:, j - 1) + 2 * matrix(:, j) + matrix(:, j + 1))
    end do
    matrix(:, 1:columns) = next(:, 1:columns)
  end subroutine smooth

  ! Row i of the matrix becomes column i: rank r gets the rows first(r)+1 to first(r+1) of this
  ! rank's columns, and stores what comes from this rank as rows of its new columns.
  subroutine transpose_columns()
    integer :: sendcounts(0:ranks - 1), senddispls(0:ranks - 1)
    integer :: recvcounts(0:ranks - 1), recvdispls(0:ranks - 1), r, j
    real(dp) :: received(order * columns)
    sendcounts = firsts(1:ranks) - firsts(0:ranks - 1)
    senddispls = firsts(0:ranks - 1)
    recvcounts = sendcounts * columns
    recvdispls = senddispls * columns
    call MPI_Alltoallv(matrix(1, 1), sendcounts, senddispls, row_type, received, recvcounts, &
      recvdispls, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierror)
    do r = 0, ranks - 1
      do j = 1, columns
        matrix(firsts(r) + 1:firsts(r + 1), j) = received(recvdispls(r) + (j - 1) * sendcounts(r) &
          + 1:recvdispls(r) + j * sendcounts(r))
      end do
    end do
  end subroutine transpose_columns

  subroutine normalise()
    integer :: half_rank, half_ranks
    real(dp) :: passed(order), largest(1)
    call MPI_Comm_rank(half, half_rank, ierror)
    call MPI_Comm_size(half, half_ranks, ierror)
    call MPI_Sendrecv(matrix(1, 1), order, MPI_DOUBLE_PRECISION, modulo(half_rank + 1, half_ranks), &
      3, passed, order, MPI_DOUBLE_PRECISION, modulo(half_rank - 1, half_ranks), 3, half, &
      MPI_STATUS_IGNORE, ierror)
    matrix(:, columns) = 0.5_dp * (matrix(:, columns) + passed)
    largest(1) = maxval(matrix(:, 1:columns))
    call MPI_Allreduce(MPI_IN_PLACE, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, half, ierror)
    matrix(:, 1:columns) = matrix(:, 1:columns) / largest(1)
  end subroutine normalise

  ! The sums of the ranks, added in the order of the ranks.
  real(dp) function total()
    real(dp) :: own(1), all(ranks)
    own(1) = sum(matrix(:, 1:columns))
    call MPI_Gather(own, 1, MPI_DOUBLE_PRECISION, all, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, &
      ierror)
    total = sum(all)
  end function total

  subroutine release()
    integer :: i
    do i = 1, 4
      call MPI_Request_free(requests(i), ierror)
    end do
    call MPI_Type_free(row_type, ierror)
    call MPI_Comm_free(half, ierror)
  end subroutine release

end program transpose_matrix
