import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { createScratchRoot, type ScratchRoot } from '../../helpers/systemd/scratch-root.ts'

const INSTALLED = ['/usr/lib/boxyard', '/usr/bin/boxyard', '/usr/share/doc/boxyard', '/etc/boxyard']
const UNITS = ['agent', 'boxes', 'front'].map((name) => `/usr/lib/systemd/system/boxyard-${name}.service`)
let root: ScratchRoot

beforeEach(() => {
  root = createScratchRoot()
})

afterEach(() => root.remove())

test.each(['077', '002'])('what a user unpacked under umask %s is installed as files of root', (umask) => {
  const unpacked = `umask ${umask}; cp -r /archive /home/unpacked && chown -R 1234:1234 /home/unpacked`
  expect(root.run(`${unpacked} && /home/unpacked/install.sh`)).toMatchObject({ code: 0 })
  const found = root.run(`find ${[...INSTALLED, ...UNITS].join(' ')} -printf '%U:%G %m %y %p\\n'`).output.trim()
  const faults = found.split('\n').filter((line) => !/^0:0 (755|644) /.test(line))
  expect(faults).toEqual([])
  expect(found.split('\n').length).toBeGreaterThan(9)
})

test('an installation is repeated, keeps settings, and a removal that was cut off is done again', () => {
  expect(root.run('/archive/install.sh').code).toBe(0)
  root.write('/etc/boxyard/boxyard.conf', 'BOXYARD_PORT=9000\n')
  expect(root.run('/archive/install.sh').code).toBe(0)
  expect(readFileSync(root.pathOf('/etc/boxyard/boxyard.conf'), 'utf8')).toBe('BOXYARD_PORT=9000\n')
  // Imitates systemd, which does not know a unit without its file.
  const strict = '#!/bin/sh\nfor last; do :; done\n[ "$1" != disable ] || [ -e "/usr/lib/systemd/system/$last" ]\n'
  root.write('/usr/local/bin/systemctl', strict, 0o755)
  const cut = root.run(
    'rm /usr/lib/systemd/system/boxyard-agent.service /usr/bin/boxyard && /archive/install.sh --remove',
  )
  expect(cut).toEqual({ code: 0, output: expect.stringContaining('Removed. Data stays in /var/lib/boxyard') })
  expect(root.run('/archive/install.sh --remove').code).toBe(0)
  for (const path of [...INSTALLED.slice(0, 3), ...UNITS])
    expect([path, existsSync(root.pathOf(path))]).toEqual([path, false])
})

test('an installation beside the Debian package is refused', () => {
  root.write(
    '/package/DEBIAN/control',
    'Package: boxyard\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n',
  )
  expect(root.run('dpkg-deb --build /package /boxyard.deb && dpkg --install /boxyard.deb').code).toBe(0)
  const refused = root.run('/archive/install.sh')
  expect(refused).toEqual({ code: 1, output: expect.stringMatching(/^The Debian package is installed here/) })
  expect(existsSync(root.pathOf('/usr/lib/boxyard'))).toBe(false)
  expect(root.run('dpkg --remove boxyard && /archive/install.sh').code).toBe(0)
})

test('the Debian package is refused beside an installation, and installed and repeated without one', () => {
  const control = 'Package: boxyard\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n'
  root.write('/package/DEBIAN/control', control)
  root.write('/package/usr/lib/boxyard/release.json', '{}')
  const build = 'cp /scripts/preinst /package/DEBIAN/ && dpkg-deb --build /package /boxyard.deb'
  expect(root.run(`${build} && /archive/install.sh`).code).toBe(0)
  const refused = root.run('dpkg --install /boxyard.deb')
  expect(refused).toEqual({ code: 1, output: expect.stringContaining('remove that first (./install.sh --remove)') })
  expect(existsSync(root.pathOf('/usr/lib/boxyard/agent'))).toBe(true)
  expect(root.run('/archive/install.sh --remove && dpkg --install /boxyard.deb')).toMatchObject({ code: 0 })
  // dpkg does this for an interrupted installation.
  for (const again of ['dpkg --install /boxyard.deb', '/scripts/preinst install 1', '/scripts/preinst upgrade 1'])
    expect(root.run(again)).toMatchObject({ code: 0 })
})

test('a removal takes away what an installation left that was cut off, after the boxes were stopped', () => {
  expect(root.run('/archive/install.sh').code).toBe(0)
  // Imitates the program, which needs its files.
  root.write('/usr/bin/boxyard', '#!/bin/sh\ncd /usr/lib/boxyard && echo "boxyard $*"\n', 0o755)
  expect(root.run('cp -r /usr/lib/boxyard /usr/lib/boxyard.new && mv /usr/lib/boxyard /usr/lib/boxyard.old').code).toBe(
    0,
  )
  const removed = root.run('/archive/install.sh --remove')
  expect(removed).toEqual({ code: 0, output: expect.stringMatching(/^boxyard admin down\nRemoved\./) })
  expect(readdirSync(root.pathOf('/usr/lib')).filter((name) => name.startsWith('boxyard'))).toEqual([])
})

test('a removal fails, and removes nothing, while the boxes cannot be stopped', () => {
  expect(root.run('/archive/install.sh').code).toBe(0)
  root.write('/usr/bin/boxyard', '#!/bin/sh\necho "Another agent runs." >&2; exit 1\n', 0o755)
  expect(root.run('/archive/install.sh --remove')).toEqual({ code: 1, output: 'Another agent runs.\n' })
  expect(existsSync(root.pathOf('/usr/lib/boxyard'))).toBe(true)
})

test('a purge ends well where the data directory is a disk of its own, and may be repeated', () => {
  const data = root.pathOf('/var/lib/boxyard')
  mkdirSync(data)
  const disk = 'mount -t tmpfs tmpfs /var/lib/boxyard && echo x >/var/lib/boxyard/boxyard.db'
  expect(root.run(disk).code).toBe(0)
  expect(root.run('/scripts/postrm purge')).toMatchObject({ code: 0 })
  expect(readdirSync(data)).toEqual([])
  expect(root.run('/scripts/postrm purge').code).toBe(0)
  expect(root.run('umount /var/lib/boxyard && /scripts/postrm purge').code).toBe(0)
  expect(existsSync(data)).toBe(false)
})

test('a purge removes nothing of what is mounted in the data directory', () => {
  const data = root.pathOf('/var/lib/boxyard')
  mkdirSync(join(data, 'backups'), { recursive: true })
  expect(root.run('mount -t tmpfs tmpfs /var/lib/boxyard/backups && echo x >/var/lib/boxyard/backups/kept').code).toBe(
    0,
  )
  expect(root.run('/scripts/postrm purge')).toEqual({ code: 0, output: expect.stringContaining('holds mounts') })
  expect(readdirSync(join(data, 'backups'))).toEqual(['kept'])
})

test('a purge leaves data that an agent of a checkout serves meanwhile, and what other deployments have in /run', () => {
  const data = root.pathOf('/var/lib/boxyard')
  // The scratch root shows this machine's instances.
  root.run('rm -rf /run/boxyard')
  for (const name of ['abcd0123/pool', 'other678/pool', 'hosts'])
    mkdirSync(root.pathOf(`/run/boxyard/${name}`), { recursive: true })
  root.write('/run/boxyard/hosts/0', 'other678')
  mkdirSync(data)
  writeFileSync(join(data, 'instance'), 'abcd0123\n')
  writeFileSync(join(data, 'lock'), '')
  const served = root.run('flock /var/lib/boxyard/lock /scripts/postrm purge')
  expect(served).toEqual({ code: 0, output: expect.stringContaining('An agent runs on /var/lib/boxyard') })
  expect(readdirSync(data)).toEqual(['instance', 'lock'])
  expect(readdirSync(root.pathOf('/run/boxyard'))).toEqual(['abcd0123', 'hosts', 'other678'])
  expect(root.run('/scripts/postrm purge')).toEqual({ code: 0, output: '' })
  expect(existsSync(data)).toBe(false)
  expect(readdirSync(root.pathOf('/run/boxyard'))).toEqual(['hosts', 'other678'])
  // Nothing of the last instance remains.
  root.run('rm -r /run/boxyard/other678 /run/boxyard/hosts/0 && touch /run/boxyard/hosts/.lock')
  expect(root.run('/scripts/postrm purge')).toEqual({ code: 0, output: '' })
  expect(existsSync(root.pathOf('/run/boxyard'))).toBe(false)
})

test('a purge tells where the pool stays that a link leads to', () => {
  mkdirSync(root.pathOf('/srv/disk'), { recursive: true })
  writeFileSync(root.pathOf('/srv/disk/pool.img'), '')
  mkdirSync(root.pathOf('/var/lib/boxyard'))
  symlinkSync('/srv/disk/pool.img', root.pathOf('/var/lib/boxyard/pool.img'))
  const told = 'The pool stays in /srv/disk/pool.img, where /var/lib/boxyard/pool.img led to.\n'
  expect(root.run('/scripts/postrm purge')).toEqual({ code: 0, output: told })
  expect(existsSync(root.pathOf('/srv/disk/pool.img'))).toBe(true)
})

test('a purge tells where data stays that a link leads to', () => {
  mkdirSync(root.pathOf('/srv/disk'), { recursive: true })
  writeFileSync(root.pathOf('/srv/disk/boxyard.db'), '')
  symlinkSync('/srv/disk', root.pathOf('/var/lib/boxyard'))
  expect(root.run('/scripts/postrm purge')).toEqual({ code: 0, output: expect.stringContaining('stays in /srv/disk') })
  expect(existsSync(root.pathOf('/srv/disk/boxyard.db'))).toBe(true)
  expect(readdirSync(root.pathOf('/var/lib'))).not.toContain('boxyard')
})

test('a removal that is given up starts again what it stopped, and an upgrade that is given up touches nothing', () => {
  for (const unit of UNITS)
    root.write(unit, readFileSync(join(ROOT, 'infra/systemd', unit.split('/').at(-1) ?? ''), 'utf8'))
  root.run('/scripts/postinst configure ""')
  root.asked()
  for (const step of [
    'prerm upgrade 2',
    'prerm failed-upgrade 1',
    'postinst abort-upgrade 2',
    'postrm abort-upgrade 1',
  ]) {
    expect(root.run(`/scripts/${step}`)).toEqual({ code: 0, output: '' })
    expect(root.asked()).toEqual([])
  }
  root.write('/usr/bin/boxyard', '#!/bin/sh\nexit 1\n', 0o755)
  expect(root.run('/scripts/prerm remove').code).toBe(1)
  expect(root.asked()).toEqual([expect.stringMatching(/^stop /)])
  expect(root.run('/scripts/postinst abort-remove').code).toBe(0)
  const restarts = root.asked().filter((line) => line.includes(' restart '))
  expect(restarts).toEqual(['agent', 'front'].map((name) => `--no-block restart boxyard-${name}.service`))
})

test('the command finds programs of sbin for a root whose PATH lacks them', () => {
  root.write('/opt/bin/boxyard', readFileSync(join(ROOT, 'infra/release/boxyard'), 'utf8'), 0o755)
  root.write('/opt/lib/boxyard/node_modules/.bin/node', '#!/bin/sh\necho "$PATH"\n', 0o755)
  root.write('/etc/boxyard/boxyard.conf', '')
  const { code, output } = root.run('env -i PATH=/usr/bin:/bin HOME= /opt/bin/boxyard doctor')
  expect([code, output.trim().split(':')]).toEqual([0, expect.arrayContaining(['/usr/sbin', '/sbin', '/usr/bin'])])
})
