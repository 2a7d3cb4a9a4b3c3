import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { execute, type OciLab, openOciLab, untilGone } from '../helpers/boxes/oci-lab.ts'

/** Roots that a box may have prepared for its next start, by what it replaced. */
const SHAPES: [string, (root: string, bait: string) => void][] = [
  ['/proc leads to a directory of the host', (root, bait) => link(root, 'proc', bait)],
  ['/proc leads out of the root', (root, bait) => link(root, 'proc', `${'../'.repeat(20)}${bait}`)],
  ['/proc is a file', (root) => file(root, 'proc')],
  ['/sys is a FIFO', (root) => fifo(root, 'sys')],
  ['/dev is missing', (root) => rmSync(join(root, 'dev'), { recursive: true })],
  ['/dev has files', (root) => file(root, 'dev/null')],
  ['/run leads to another directory of the box', (root) => link(root, 'run', '/tmp')],
  ['/run has a link to a directory of the host', (root, bait) => link(root, 'run/boxyard', bait)],
  ['/etc leads to a directory of the host', (root, bait) => link(root, 'etc', bait)],
  ['/etc leads to another directory of the box', (root) => moveEtc(root, 'home/x')],
  ['/etc leads there by a path of its own', (root) => moveEtc(root, '/home/x')],
  ['/etc leads to itself', (root) => link(root, 'etc', 'etc')],
  ['/etc is a file', (root) => file(root, 'etc')],
  ['/etc is a FIFO', (root) => fifo(root, 'etc')],
  ['/etc is missing', (root) => rmSync(join(root, 'etc'), { recursive: true })],
  ['/etc/hosts leads to a file of the host', (root, bait) => link(root, 'etc/hosts', join(bait, 'file'))],
  ['/etc/hosts leads to a file of the box', (root) => link(root, 'etc/hosts', '/tmp/hosts')],
  ['/etc/hosts leads to what is mounted', (root) => link(root, 'etc/hosts', '/proc/1/environ')],
  ['/etc/hostname is a FIFO', (root) => fifo(root, 'etc/hostname')],
  ['/etc/hostname is a directory', (root) => mkdirSync(join(root, 'etc/hostname'))],
  ['/etc/machine-id is not to be written', (root) => readOnly(root, 'etc/machine-id')],
]

describe.each([
  ['a pod of its own', 0],
  ['a pod that waited', 1],
])('a box in %s starts, and the host is not touched, where', (_, warmPool) => {
  let lab: OciLab
  let bait = ''

  beforeAll(async () => {
    process.env['TEST_WARM_POOL'] = String(warmPool)
    lab = await openOciLab()
    bait = join(lab.home, 'bait')
    mkdirSync(bait)
    writeFileSync(join(bait, 'file'), 'of the host\n')
  })

  afterAll(async () => {
    delete process.env['TEST_WARM_POOL']
    await lab.close()
    await untilGone(lab)
  })

  test.each(SHAPES.map(([what, make], place) => [what, make, place] as const))('%s', async (_, make, place) => {
    const spec = lab.spec(`box_shape${place}`)
    make(spec.rootPath, bait)
    const before = insides(spec.rootPath)
    const { pid } = await lab.runtime.start(spec)
    const { stdout } = await execute(
      lab.runtime,
      spec.id,
      'hostname; ls -d /proc/self /dev/null /dev/boxyard/init; cat /etc/hosts',
    )
    expect(stdout).toMatch(new RegExp(`^${spec.hostname}\n/dev/boxyard/init\n/dev/null\n/proc/self\n`))
    expect(stdout).not.toContain('of the host')
    // Mounts lie below the box's root, so none shows the host's directory.
    expect(readFileSync(`/proc/${pid}/mountinfo`, 'utf8')).not.toContain(bait)
    expect(readdirSync(bait)).toEqual(['file'])
    expect(readFileSync(join(bait, 'file'), 'utf8')).toBe('of the host\n')
    expect(insides(spec.rootPath)).toEqual(before)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })
})

/** Lists the contents of the directories that system mounts cover. */
function insides(root: string): string[][] {
  const isReal = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  const paths = ['proc', 'sys', 'dev'].map((name) => join(root, name))
  return paths.map((path) => (isReal(path) ? readdirSync(path) : []))
}

function replace(root: string, name: string): string {
  rmSync(join(root, name), { recursive: true, force: true })
  return join(root, name)
}

function link(root: string, name: string, target: string): void {
  symlinkSync(target, replace(root, name))
}

function file(root: string, name: string): void {
  writeFileSync(replace(root, name), '')
}

function fifo(root: string, name: string): void {
  execFileSync('mkfifo', [replace(root, name)])
}

function readOnly(root: string, name: string): void {
  writeFileSync(join(root, name), '', { mode: 0 })
}

function moveEtc(root: string, target: string): void {
  mkdirSync(join(root, 'home/x'), { recursive: true })
  for (const name of readdirSync(join(root, 'etc'))) execFileSync('mv', [join(root, 'etc', name), join(root, 'home/x')])
  writeFileSync(join(root, 'home/x/hosts'), '')
  link(root, 'etc', target)
}
