import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { BoxSpec, Runtime } from '../../../agent/ports/boxes/runtime.ts'

/** A program in a box that holds the resources it took, until `end`. */
export interface Attack {
  /** Output of the program after `ready`. */
  report: string
  end(): Promise<void>
}

/** Copies the host's perl and its libraries into a root tree. Perl can make every system call and needs no compiler. */
function addPerl(rootPath: string): void {
  const [perl = '', modules = ''] = ['$^X', '(grep { m,/perl-base$, } @INC)[0]'].map((what) =>
    execFileSync('perl', ['-e', `print(${what})`], { encoding: 'utf8' }),
  )
  const libraries = execFileSync('ldd', [perl], { encoding: 'utf8' }).match(/\/\S+/g) ?? []
  for (const path of [perl, modules, ...libraries]) {
    mkdirSync(`${rootPath}${dirname(path)}`, { recursive: true })
    cpSync(path, `${rootPath}${path}`, { recursive: true, dereference: true })
  }
}

/** Starts a box whose root has perl. */
export async function startWithPerl(runtime: Runtime, spec: BoxSpec): Promise<void> {
  addPerl(spec.rootPath)
  await runtime.start(spec)
}

/** Runs a perl program in a box whose root has perl. Resolves once it prints a line `ready …`. Throws its output if it ends first. */
export async function attack(runtime: Runtime, boxId: string, program: string): Promise<Attack> {
  const command = ['perl', '-e', `use strict; $| = 1; ${program}; <STDIN>`]
  const running = await runtime.exec(boxId, { command, cwd: '/', environment: {}, user: null, endsWhole: true })
  const { stdin, stdout, stderr, exited } = running
  let printed = ''
  const report = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      printed += chunk.toString()
      const line = /^ready ?(.*)$/m.exec(printed)
      if (line !== null) resolve(line[1] ?? '')
    }
    stdout.on('data', read)
    stderr.on('data', read)
    void exited.then((exit) => reject(new Error(`${JSON.stringify(exit)} ${printed}`)))
  })
  return {
    report,
    end: async () => {
      stdin.end()
      await running.signal('SIGKILL')
      await exited
      for (const stream of [stdout, stderr]) stream.destroy()
    },
  }
}

/** Opens `count` TCP connections on loopback and fills them without reading. Reports the MiB that the kernel accepted. */
export const unreadConnections = (count: number): string => `
  use Socket; my (@held, $sent);
  socket(my $server, PF_INET, SOCK_STREAM, 0) or die $!;
  bind($server, sockaddr_in(0, INADDR_LOOPBACK)) or die $!; listen($server, ${count}) or die $!;
  for (1 .. ${count}) {
    socket(my $client, PF_INET, SOCK_STREAM, 0) or die $!;
    connect($client, getsockname($server)) or die $!; accept(my $other, $server) or die $!;
    push @held, $client, $other;
  }
  my $piece = 'x' x 65536;
  # Rounds, as the kernel gives a connection more room while it goes on.
  for (1 .. 100) { for (@held) { my $n = syswrite_now($_, $piece); $sent += $n } select(undef, undef, undef, 0.01) }
  sub syswrite_now { my ($to, $what) = @_; send($to, $what, 0x40) // 0 }
  printf "ready %d\\n", $sent / 1048576`

/** Returns the MiB that TCP sockets use on the whole host. `sockstat` is the text of /proc/net/sockstat, by default from this host. */
export function tcpMib(sockstat = readFileSync('/proc/net/sockstat', 'utf8')): number {
  return (Number(/^TCP: .* mem (\d+)$/m.exec(sockstat)?.[1]) * PAGE_BYTES) / 1024 ** 2
}

const PAGE_BYTES = 4096

/** System call numbers. */
const CALLS =
  process.arch === 'arm64'
    ? { inotifyInit1: 26, inotifyAddWatch: 27, mmap: 222, timerCreate: 107, semget: 190 }
    : { inotifyInit1: 294, inotifyAddWatch: 254, mmap: 9, timerCreate: 222, semget: 64 }

/** Perl programs that each make the kernel allocate tens of MiB that it charges to the box. Each prints `ready`. */
export const CHARGED: Readonly<Record<string, string>> = {
  pipes: `use Fcntl; my @held; for (1 .. 40) { pipe(my $r, my $w) or die $!; fcntl($w, 1031, 1048576); my $flags = fcntl($w, F_GETFL, 0);
    fcntl($w, F_SETFL, $flags | O_NONBLOCK); 1 while syswrite($w, 'x' x 65536); push @held, $r, $w } print "ready\\n"`,
  'unix sockets': `use Socket; my @held; for (1 .. 500) { socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die $!;
    for my $s ($a, $b) { 1 while send($s, 'x' x 4096, 0x40) } push @held, $a, $b } print "ready\\n"`,
  'shared memory': `open(my $f, '>', '/dev/shm/held') or die $!; syswrite($f, 'x' x 1048576) for 1 .. 40; print "ready\\n"`,
  tmpfs: `open(my $f, '>', '/run/held') or die $!; syswrite($f, 'x' x 1048576) for 1 .. 40; print "ready\\n"`,
  'names that are not there': `for (1 .. 150000) { stat "/tmp/nothing-$_" } print "ready\\n"`,
  'files that are watched': `my $i = syscall(${CALLS.inotifyInit1}, 0); for (1 .. 24000) { open(my $f, '>', "/dev/shm/$_") or die $!;
    syscall(${CALLS.inotifyAddWatch}, $i, my $path = "/dev/shm/$_", 2) }; print "ready\\n"`,
  // One page for each 2 MiB, in memory that the kernel reserves only on use.
  'page tables': `my $at = syscall(${CALLS.mmap}, 0, 64 << 30, 3, 0x4022, -1, 0); die $! if $at == -1;
    for (1 .. 6000) { my $p = pack('Q', $at); my $read = unpack('P1', $p); $at += 2 << 20 } print "ready\\n"`,
  // As many as the limit on pending signals allows.
  timers: `my $id = pack('l', 0); 1 while syscall(${CALLS.timerCreate}, 1, 0, $id) == 0; print "ready\\n"`,
  semaphores: `for (1 .. 30) { syscall(${CALLS.semget}, 0, 16000, 0x3ff) >= 0 or die $! } print "ready\\n"`,
}
