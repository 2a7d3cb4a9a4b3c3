import { KEYRING_CALLS, NESTING_CALLS, NESTING_NETLINK_PROTOCOLS } from './seccomp-nesting.ts'

/** One rule of an OCI `linux.seccomp` section. */
export interface SeccompRule {
  names: string[]
  action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO'
  errnoRet?: number
  args?: { index: number; value: number; valueTwo?: number; op: 'SCMP_CMP_EQ' | 'SCMP_CMP_MASKED_EQ' }[]
}

/** An OCI `linux.seccomp` section. */
export interface SeccompProfile {
  defaultAction: 'SCMP_ACT_ERRNO'
  defaultErrnoRet: number
  architectures: string[]
  syscalls: SeccompRule[]
}

/**
 * Builds the filter of boxes. It allows the calls that Docker allows a container without CAP_SYS_ADMIN, with exceptions. The exceptions are
 * btrfs ioctls, new namespaces, kernel AIO, and socket families other than unix, inet, inet6 and netlink. All other calls fail with EPERM.
 * clone3 fails with ENOSYS, so that libc falls back to clone, whose flags a filter can inspect. With `nesting`, namespaces and mounts are
 * allowed (`seccomp-nesting.ts`).
 */
export function buildSeccompProfile(machine: NodeJS.Architecture, { nesting = false } = {}): SeccompProfile {
  const isArm = machine === 'arm64'
  return {
    defaultAction: 'SCMP_ACT_ERRNO',
    defaultErrnoRet: EPERM,
    architectures: isArm ? ['SCMP_ARCH_AARCH64', 'SCMP_ARCH_ARM'] : ['SCMP_ARCH_X86_64', 'SCMP_ARCH_X86'],
    syscalls: [
      { names: [...words(ALWAYS), ...words(isArm ? ARM_ONLY : X86_ONLY)], action: 'SCMP_ACT_ALLOW' },
      ...(nesting ? nestingRules() : plainRules()),
      ...allowIfArgument('personality', ALLOWED_PERSONALITIES),
      ...allowIfArgument('ioctl', ALLOWED_BTRFS_IOCTLS, 1),
      ...allowOtherIoctls(BTRFS_IOCTL_TYPE),
      // The kernel limits AIO contexts host-wide. Programs fall back to other I/O on ENOSYS.
      { names: words(KERNEL_AIO), action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
      // socketcall hides its arguments behind a pointer. 32-bit programs use socket() itself since Linux 4.3.
      { names: ['socketcall'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
    ],
  }
}

function plainRules(): SeccompRule[] {
  return [
    ...allowIfArgument('socket', LOCAL_FAMILIES),
    ...allowSockets(INTERNET_TYPES),
    ...allowOptions(),
    {
      names: ['clone'],
      action: 'SCMP_ACT_ALLOW',
      args: [{ index: 0, value: CLONE_NEW_FLAGS, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
    },
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
  ]
}

function nestingRules(): SeccompRule[] {
  const families = LOCAL_FAMILIES.filter((family) => family !== AF_NETLINK)
  return [
    { names: NESTING_CALLS, action: 'SCMP_ACT_ALLOW' },
    { names: KEYRING_CALLS, action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
    { names: ['setsockopt'], action: 'SCMP_ACT_ALLOW' },
    ...allowIfArgument('socket', families),
    ...allowSockets([...INTERNET_TYPES, SOCK_RAW]),
    ...NESTING_NETLINK_PROTOCOLS.map((protocol): SeccompRule => {
      const args = [AF_NETLINK, protocol].map((value, at) => ({ index: at * 2, value, op: 'SCMP_CMP_EQ' as const }))
      return { names: ['socket'], action: 'SCMP_ACT_ALLOW', args }
    }),
  ]
}

function allowIfArgument(name: string, values: readonly number[], index = 0): SeccompRule[] {
  return values.map((value) => ({
    names: [name],
    action: 'SCMP_ACT_ALLOW',
    args: [{ index, value, op: 'SCMP_CMP_EQ' }],
  }))
}

/** Allows sockets of IPv4 and IPv6 of some types. None is SOCK_PACKET, by which the kernel gives out packet sockets under AF_INET. */
function allowSockets(types: readonly number[]): SeccompRule[] {
  return INTERNET_FAMILIES.flatMap((family) =>
    types.map((type): SeccompRule => {
      // The kernel reads the type from the lowest four bits. The bits above are flags.
      const typed = { index: 1, value: 0xf, valueTwo: type, op: 'SCMP_CMP_MASKED_EQ' as const }
      return {
        names: ['socket'],
        action: 'SCMP_ACT_ALLOW',
        args: [{ index: 0, value: family, op: 'SCMP_CMP_EQ' }, typed],
      }
    }),
  )
}

/**
 * Allows all socket options but IP_TRANSPARENT and IPV6_TRANSPARENT, with which CAP_NET_RAW sends under any address. Compares the bits that
 * the kernel reads, the lower 32 of each argument.
 */
function allowOptions(): SeccompRule[] {
  const levelBits = [1, 2, 4, 6, 7, 8, 9].map((bit) => ({ value: 1 << bit, valueTwo: 1 << bit }))
  const otherLevels = [...levelBits, { value: WHOLE, valueTwo: SOL_SOCKET }].map((bits): SeccompRule => {
    return { names: ['setsockopt'], action: 'SCMP_ACT_ALLOW', args: [{ index: 1, ...bits, op: 'SCMP_CMP_MASKED_EQ' }] }
  })
  const others = TRANSPARENT.flatMap(({ level, option }) =>
    blocksBeside(option).map((block): SeccompRule => {
      const atLevel = { index: 1, value: WHOLE, valueTwo: level, op: 'SCMP_CMP_MASKED_EQ' as const }
      const args = [atLevel, { index: 2, ...block, op: 'SCMP_CMP_MASKED_EQ' as const }]
      return { names: ['setsockopt'], action: 'SCMP_ACT_ALLOW', args }
    }),
  )
  return [...otherLevels, ...others]
}

/**
 * Returns the blocks, as masks with their values, that make up 0–127 without `excluded`. In each block one bit differs and lower bits are
 * free.
 */
function blocksBeside(excluded: number): { value: number; valueTwo: number }[] {
  return Array.from({ length: OPTION_BITS }, (_, bit) => {
    const mask = (WHOLE - ((1 << bit) - 1)) >>> 0
    return { value: mask, valueTwo: ((excluded ^ (1 << bit)) & mask) >>> 0 }
  })
}

/** Allows ioctl where any bit of the type byte (bits 8–15 of the command) differs from `type`. */
function allowOtherIoctls(type: number): SeccompRule[] {
  return Array.from({ length: 8 }, (_, bit) => {
    const mask = 1 << (8 + bit)
    return {
      names: ['ioctl'],
      action: 'SCMP_ACT_ALLOW',
      args: [{ index: 1, value: mask, valueTwo: ~(type << 8) & mask, op: 'SCMP_CMP_MASKED_EQ' }],
    }
  })
}

function words(table: string): string[] {
  return table.trim().split(/\s+/)
}

const EPERM = 1
const ENOSYS = 38
const BTRFS_IOCTL_TYPE = 0x94
// FICLONE, FICLONERANGE, FIDEDUPERANGE. Reflink copies stay inside the box's own subvolume.
const ALLOWED_BTRFS_IOCTLS = [0x40049409, 0x4020940d, 0xc0189436]
const AF_NETLINK = 16
const LOCAL_FAMILIES = [1, AF_NETLINK]
const INTERNET_FAMILIES = [2, 10]
// SOCK_STREAM, SOCK_DGRAM and SOCK_SEQPACKET.
const INTERNET_TYPES = [1, 2, 5]
const SOCK_RAW = 3
const SOL_SOCKET = 1
// IPPROTO_IP with IP_TRANSPARENT, IPPROTO_IPV6 with IPV6_TRANSPARENT.
const TRANSPARENT = [
  { level: 0, option: 19 },
  { level: 41, option: 75 },
]
// Options of these levels are below 128.
const OPTION_BITS = 7
const WHOLE = 0xffffffff
const ALLOWED_PERSONALITIES = [0, 0x8, 0x20000, 0x20008, 0xffffffff]
// NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
const CLONE_NEW_FLAGS = 0x7e020000

const KERNEL_AIO = 'io_setup io_submit io_cancel io_destroy io_getevents io_pgetevents io_pgetevents_time64'
const X86_ONLY = 'arch_prctl modify_ldt'
const ARM_ONLY = 'arm_fadvise64_64 arm_sync_file_range sync_file_range2 breakpoint cacheflush set_tls'

const ALWAYS = `
  read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 lseek _llseek readahead fadvise64 fadvise64_64
  open openat openat2 creat close close_range dup dup2 dup3 fcntl fcntl64 flock fallocate ftruncate ftruncate64 truncate truncate64
  stat stat64 lstat lstat64 fstat fstat64 fstatat64 newfstatat statx statfs statfs64 fstatfs fstatfs64 statmount listmount
  access faccessat faccessat2 readlink readlinkat getdents getdents64 getcwd chdir fchdir chroot umask name_to_handle_at
  mkdir mkdirat mknod mknodat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat
  chmod fchmod fchmodat fchmodat2 chown chown32 fchown fchown32 fchownat lchown lchown32
  utime utimes utimensat utimensat_time64 futimesat
  getxattr lgetxattr fgetxattr getxattrat setxattr lsetxattr fsetxattr setxattrat listxattr llistxattr flistxattr listxattrat
  removexattr lremovexattr fremovexattr removexattrat
  sync syncfs fsync fdatasync sync_file_range copy_file_range sendfile sendfile64 splice tee vmsplice cachestat
  pipe pipe2 select _newselect pselect6 pselect6_time64 poll ppoll ppoll_time64
  epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_wait epoll_wait_old epoll_pwait epoll_pwait2
  eventfd eventfd2 signalfd signalfd4 inotify_init inotify_init1 inotify_add_watch inotify_rm_watch fanotify_mark
  timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64
  ioprio_get ioprio_set
  socketpair bind listen accept accept4 connect shutdown getsockname getpeername getsockopt
  send sendto sendmsg sendmmsg recv recvfrom recvmsg recvmmsg recvmmsg_time64
  brk mmap mmap2 mprotect mremap munmap msync madvise mincore mseal mlock mlock2 mlockall munlock munlockall membarrier
  memfd_create memfd_secret remap_file_pages pkey_alloc pkey_free pkey_mprotect map_shadow_stack process_mrelease
  futex futex_time64 futex_wait futex_wake futex_waitv futex_requeue get_robust_list set_robust_list rseq
  fork vfork execve execveat exit exit_group wait4 waitid waitpid restart_syscall
  kill tkill tgkill pause sigaltstack sigprocmask sigreturn alarm getitimer setitimer
  rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64
  rt_tgsigqueueinfo pidfd_open pidfd_send_signal ptrace process_vm_readv process_vm_writev
  getpid getppid gettid getpgid getpgrp setpgid getsid setsid set_tid_address get_thread_area set_thread_area
  getuid getuid32 geteuid geteuid32 getgid getgid32 getegid getegid32 getresuid getresuid32 getresgid getresgid32
  getgroups getgroups32 setgroups setgroups32 setuid setuid32 setgid setgid32 setreuid setreuid32 setregid setregid32
  setresuid setresuid32 setresgid setresgid32 setfsuid setfsuid32 setfsgid setfsgid32
  capget capset prctl seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self
  getrlimit ugetrlimit setrlimit prlimit64 getrusage times getpriority setpriority getcpu sysinfo uname getrandom
  sched_getaffinity sched_setaffinity sched_getattr sched_setattr sched_getparam sched_setparam sched_getscheduler
  sched_setscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval sched_rr_get_interval_time64 sched_yield
  time gettimeofday adjtimex clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime clock_gettime64
  clock_nanosleep clock_nanosleep_time64 nanosleep
  timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64
  ipc msgctl msgget msgrcv msgsnd semctl semget semop semtimedop semtimedop_time64 shmat shmctl shmdt shmget
  mq_open mq_unlink mq_getsetattr mq_notify mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64
  uretprobe
`
