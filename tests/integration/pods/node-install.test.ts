import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'

let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'node-install-'))
})

afterEach(() => rmSync(root, { recursive: true }))

describe('on a node of kubeadm', () => {
  beforeEach(() => {
    place('/var/lib/kubelet/config.yaml', '')
    place('/usr/sbin/runc', '', 0o755)
  })

  test('the wrapper and the handler are placed, and a second run changes nothing', () => {
    place(CONTAINERD, `version = 3\nimports = ['/etc/containerd/conf.d/*.toml']\n${RUNC_WITH_SYSTEMD}`)
    const first = install('--node', 'n1')
    expect(first).toMatchObject({ exitCode: 0 })
    expect(first.output).toContain('kubectl label node n1 boxyard.dev/node=true')
    expect(first.output).toContain('systemctl restart containerd')
    expect(read(WRAPPER)).toBe(readFileSync(join(ROOT, 'infra/node/boxyard-oci'), 'utf8'))
    expect(statSync(join(root, WRAPPER)).mode & 0o777).toBe(0o755)
    expect(read(`${WRAPPER}.conf`)).toContain("RUNC='/usr/sbin/runc'\nRUN_DIR='/run/boxyard'\n")
    const handler = read('/etc/containerd/conf.d/boxyard.toml')
    expect(handler).toMatch(/^version = 3$/m)
    expect(handler).toContain('pod_annotations = ["boxyard.dev/*"]')
    expect(handler).toContain(`BinaryName = "${WRAPPER}"\n  SystemdCgroup = true\n`)
    const second = install('--node', 'n1')
    expect(second.output).not.toMatch(/wrote|restart/)
  })

  test('a missing import is added before the first table, and the mode of the file stays', () => {
    place(CONTAINERD, `version = 2\n${RUNC_WITH_SYSTEMD.replace('true', 'false')}`, 0o600)
    expect(install()).toMatchObject({ exitCode: 0 })
    expect(read(CONTAINERD)).toMatch(/^version = 2\nimports = \["\/etc\/containerd\/conf\.d\/\*\.toml"\]\n\[/)
    expect(statSync(join(root, CONTAINERD)).mode & 0o777).toBe(0o600)
    expect(read('/etc/containerd/conf.d/boxyard.toml')).toContain('SystemdCgroup = false')
  })

  test('another directory that is imported already is used', () => {
    place(CONTAINERD, 'version = 3\nimports = ["/etc/containerd/one.toml", "/etc/containerd/more/*.toml"] # ours\n')
    expect(install()).toMatchObject({ exitCode: 0 })
    expect(read('/etc/containerd/more/boxyard.toml')).toContain('runtimes.boxyard')
  })

  test('--print shows all and writes nothing', () => {
    place(CONTAINERD, 'version = 3\n')
    const { output } = install('--print')
    expect(output).toContain('would write /etc/containerd/conf.d/boxyard.toml (mode 0644)')
    expect(output).toContain('would write /etc/containerd/config.toml (mode 0644)')
    expect(() => read(WRAPPER)).toThrow(/ENOENT/)
    expect(read(CONTAINERD)).toBe('version = 3\n')
  })

  test.each([
    ['no configuration', null, /config\.toml is missing/],
    ['the configuration of a Docker package', 'version = 2\ndisabled_plugins = ["cri"]\n', /disables the CRI plugin/],
    ['a version it does not know', 'oom_score = 0\n', /of no version that is known/],
    ['imports of single files', 'version = 3\nimports = ["/etc/containerd/one.toml"]\n', /by hand, in one line/],
    [
      'imports over several lines',
      'version = 3\nimports = [\n  "/etc/containerd/c/*.toml"\n]\n',
      /by hand, in one line/,
    ],
  ])('%s is refused, and nothing is written', (_, config, reason) => {
    if (config !== null) place(CONTAINERD, config)
    const { exitCode, output } = install()
    expect(exitCode).toBe(1)
    expect(output).toMatch(reason)
    expect(() => read(WRAPPER)).toThrow(/ENOENT/)
  })
})

describe('on a node of k3s', () => {
  beforeEach(() => place('/var/lib/rancher/k3s/data/current/bin/runc', '', 0o755))

  test('the handler is a drop-in if k3s imports these', () => {
    place(`${K3S}/config.toml`, `version = 3\nimports = ["${K3S}/config-v3.toml.d/*.toml"]\n${RUNC_WITH_SYSTEMD}`)
    expect(install()).toMatchObject({ exitCode: 0 })
    expect(read(`${K3S}/config-v3.toml.d/boxyard.toml`)).toContain('SystemdCgroup = true')
    expect(read(`${WRAPPER}.conf`)).toContain("RUNC='/var/lib/rancher/k3s/data/current/bin/runc'")
  })

  test('the handler is added by a template if k3s imports nothing', () => {
    place(`${K3S}/config.toml`, `version = 3\n${RUNC_WITH_SYSTEMD}`)
    expect(install().output).toContain('systemctl restart k3s')
    expect(read(`${K3S}/config-v3.toml.tmpl`)).toMatch(/^#.*\n\{\{ template "base" \. \}\}\n\n\[plugins/)
    expect(install().output).not.toMatch(/wrote/)
  })

  test('a foreign template stays unchanged, and the text to add is printed', () => {
    place(`${K3S}/config.toml`, 'version = 3\n')
    place(`${K3S}/config-v3.toml.tmpl`, '{{ template "base" . }}\n')
    const refused = install()
    expect(refused).toMatchObject({ exitCode: 1 })
    expect(refused.output).toContain('Add the lines above at its end')
    place(`${K3S}/config-v3.toml.tmpl`, `{{ template "base" . }}\n${refused.output}`)
    expect(install()).toMatchObject({ exitCode: 0 })
    expect(read(WRAPPER)).toContain('#!/bin/sh')
  })

  test('one with containerd 1 is refused', () => {
    place(`${K3S}/config.toml`, 'version = 2\n')
    expect(install()).toMatchObject({ exitCode: 1, output: expect.stringContaining('containerd 1') })
  })
})

test('a machine that is no node, or two at once, is refused', () => {
  expect(install().output).toContain('no node of kubeadm')
  place('/var/lib/kubelet/config.yaml', '')
  place('/var/lib/rancher/k3s/agent/x', '')
  expect(install().output).toContain('kubeadm and of k3s at once')
})

test.each([
  ['1.1.12', 1, /too old/],
  ['1.2.0', 0, /^Warning: runc 1\.2\.0 .*CVE-2025-31133.*\n.*1\.2\.8/],
  ['1.2.5+ds1', 0, /^Warning/],
  ['1.3.2', 0, /^Warning/],
  ['1.4.0-rc.2', 0, /^Warning/],
  ['1.2.8', 0, /^$/],
  ['1.2.10', 0, /^$/],
  ['1.3.3', 0, /^$/],
  ['1.3.3+ds1', 0, /^$/],
  ['1.4.0', 0, /^$/],
  ['1.5.2', 0, /^$/],
])('runc %s: exit code %d and %s', (version, exitCode, output) => {
  place('/runc', `#!/bin/sh\necho 'runc version ${version}\ncommit: v1'`, 0o755)
  const { status, stderr } = spawnSync(
    'bash',
    ['-c', 'source "$1"; check_runc "$2"', '-', SCRIPT, join(root, 'runc')],
    {
      encoding: 'utf8',
    },
  )
  expect([status, stderr]).toEqual([exitCode, expect.stringMatching(output)])
})

function place(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text, { mode })
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

function install(...args: string[]): { exitCode: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('bash', [SCRIPT, '--root', root, ...args], { encoding: 'utf8' })
  return { exitCode: status, output: stdout + stderr }
}

const SCRIPT = join(ROOT, 'infra/node/install.sh')
const CONTAINERD = '/etc/containerd/config.toml'
const K3S = '/var/lib/rancher/k3s/agent/etc/containerd'
const WRAPPER = '/usr/local/lib/boxyard/boxyard-oci'
const RUNC_WITH_SYSTEMD = `[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
    SystemdCgroup = true
`
