import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { ROOT } from '../../../infra/commands.ts'

/** A copy of this machine's files for test installations. Its systemctl only records its arguments. */
export interface ScratchRoot {
  /** Returns the host path of a path in the copy. */
  pathOf(path: string): string
  write(path: string, text: string, mode?: number): void
  /** Runs a shell script in it as root, with only dpkg's environment. Returns the exit code and the output. */
  run(script: string): { code: number | null; output: string }
  /** Returns the arguments of each systemctl call since the last read. */
  asked(): string[]
  remove(): void
}

/**
 * Creates a scratch root. `remove` also discards changes in it. It has the maintainer scripts in /scripts, and an unpacked archive in
 * /archive.
 */
export function createScratchRoot(): ScratchRoot {
  const scratch = mkdtempSync(join(tmpdir(), 'boxyard-scratch-root-'))
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', scratch])
  const [upper, work, merged] = ['upper', 'work', 'merged'].map((name) => join(scratch, name)) as [
    string,
    string,
    string,
  ]
  for (const directory of [upper, work, merged]) mkdirSync(directory)
  execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', `lowerdir=/,upperdir=${upper},workdir=${work}`, merged])
  execFileSync('mount', ['-t', 'proc', 'proc', join(merged, 'proc')])
  const pathOf = (path: string): string => join(merged, path)
  const write: ScratchRoot['write'] = (path, text, mode = 0o644) => {
    mkdirSync(dirname(pathOf(path)), { recursive: true })
    writeFileSync(pathOf(path), text)
    chmodSync(pathOf(path), mode)
  }
  write('/usr/local/bin/systemctl', '#!/bin/sh\necho "$@" >>/asked\n', 0o755)
  write('/asked', '')
  write('/usr/sbin/policy-rc.d', '#!/bin/sh\nexit 0\n', 0o755)
  mkdirSync(pathOf('/run/systemd/system'), { recursive: true })
  for (const script of ['preinst', 'postinst', 'prerm', 'postrm'])
    write(`/scripts/${script}`, readFileSync(join(ROOT, 'infra/release', script), 'utf8'), 0o755)
  const installer = readFileSync(join(ROOT, 'infra/release/install.sh'), 'utf8')
  write('/archive/install.sh', installer.replace('@PROGRAMS@', 'sh'), 0o755)
  write('/archive/root/usr/lib/boxyard/agent/main.ts', '')
  write('/archive/root/usr/bin/boxyard', '#!/bin/sh\necho "boxyard $*"\n', 0o755)
  write('/archive/root/usr/share/doc/boxyard/README.md', '')
  write('/archive/root/etc/boxyard/boxyard.conf', '')
  cpSync(join(ROOT, 'infra/systemd'), pathOf('/archive/root/usr/lib/systemd/system'), { recursive: true })
  return {
    pathOf,
    write,
    run: (script) => {
      const { status, stdout, stderr } = spawnSync('chroot', [merged, '/bin/sh', '-c', script], {
        encoding: 'utf8',
        env: {
          PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
          DPKG_MAINTSCRIPT_PACKAGE: 'boxyard',
        },
      })
      return { code: status, output: `${stdout}${stderr}` }
    },
    asked: () => {
      const lines = readFileSync(pathOf('/asked'), 'utf8').split('\n').filter(Boolean)
      writeFileSync(pathOf('/asked'), '')
      return lines
    },
    remove: () => {
      execFileSync('umount', ['--recursive', scratch])
      rmSync(scratch, { recursive: true })
    },
  }
}
