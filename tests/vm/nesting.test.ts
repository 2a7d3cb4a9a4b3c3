import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { beforeAll, expect, test } from '@jest/globals'
import { runOk } from '../../agent/lib/run.ts'
import { unpackDebian } from '../helpers/bases/debian-root.ts'
import { untilSucceeds } from '../helpers/eventually.ts'
import { untilServing } from '../helpers/vm/boxyard.ts'
import { TEST_LIMIT_MS, useInstalled } from '../helpers/vm/use-installed.ts'

const { machine, client } = useInstalled()
const PACKAGES = [
  ...[
    'base-files',
    'base-passwd',
    'bash',
    'bubblewrap',
    'busybox-static',
    'ca-certificates',
    'coreutils',
    'crun',
    'dash',
  ],
  ...['docker-cli', 'docker.io', 'grep', 'iptables', 'netavark', 'nftables', 'podman', 'procps', 'util-linux'],
]

/**
 * Builds the tar of a Debian root with container tools. It is compressed, because copying into the machine is as slow as its CPU. The test
 * does not need the packages' installation scripts.
 */
async function makeRoot(directory: string): Promise<string> {
  const [root, tar] = [`${directory}/root`, `${directory}/root.tar.zst`]
  await unpackDebian(root, PACKAGES, TEST_LIMIT_MS)
  writeFileSync(`${root}/etc/group`, 'root:x:0:\ndocker:x:999:\nann:x:1000:\n')
  // Selects the nftables variants, as the packages' scripts do.
  for (const name of ['iptables', 'ip6tables'])
    await runOk('ln', ['-sfn', `/usr/sbin/${name}-nft`, `${root}/usr/sbin/${name}`])
  for (const path of ['usr/share/doc', 'usr/share/man', 'usr/share/locale', 'var/cache', 'var/lib/apt', 'dev'])
    rmSync(`${root}/${path}`, { recursive: true, force: true })
  await runOk('tar', ['-C', root, '--zstd', '-cf', tar, '.'])
  return tar
}

/** Runs a shell line in the box. The line must succeed. */
async function inBox(line: string, more: object = {}): Promise<string> {
  const { body } = await client.shell('demo', 'nest', line, { timeout_seconds: 600, ...more })
  expect([line, body.exit_code === 0 ? '' : body]).toEqual([line, ''])
  return body.stdout.trim()
}

beforeAll(async () => {
  await machine().run('echo BOXYARD_NESTING=true >>/etc/boxyard/boxyard.conf && systemctl restart boxyard-agent')
  const directory = mkdtempSync('/var/tmp/boxyard-nesting-')
  try {
    await machine().copyIn(await makeRoot(directory), '/var/tmp/root.tar.zst')
  } finally {
    rmSync(directory, { recursive: true })
  }
  await untilServing(machine())
  const status = await machine().run(`
    curl -sS -o /dev/stderr -w '%{http_code}' -T /var/tmp/root.tar.zst -X POST -H 'Content-Type: application/x-tar' \\
      -H "Authorization: Bearer $(cat /var/lib/boxyard/admin.token)" 'http://127.0.0.1:8080/v1/projects/demo/bases?name=containers'
    rm /var/tmp/root.tar.zst`)
  expect(status).toBe('201')
  const config = { nesting: true, cpus: 2, ram_mb: 1024, storage_gb: 3 }
  const created = await client.post('/v1/projects/demo/boxes', { name: 'nest', base: 'containers', config })
  expect([created.status, created.body]).toEqual([201, expect.anything()])
  await inBox(
    'mkdir -p /img/bin && cp /usr/bin/busybox /img/bin && for name in sh id ip grep cat sleep wget; do ln -s busybox /img/bin/$name; done',
  )
}, TEST_LIMIT_MS)

test('bubblewrap makes a sandbox, for root and for a user', async () => {
  const wrapped =
    'bwrap --ro-bind / / --tmpfs /tmp --dev /dev --proc /proc --unshare-all sh -c "ls /proc | grep -c [0-9]$"'
  for (const user of ['root', 'ann']) expect(Number(await inBox(wrapped, { user }))).toBeLessThan(8)
})

test('podman runs containers with limits and a network of their own', async () => {
  await inBox('busybox tar -C /img -c . | podman import - boxed')
  const asked = 'cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids.max; ip -4 addr show eth0 | grep -c 10.88'
  expect(await inBox(`podman run --rm --memory 64m --pids-limit 32 boxed sh -c '${asked}'`)).toBe(
    `${64 * 1024 ** 2}\n32\n1`,
  )
  expect(await inBox('podman info --format "{{.Store.GraphDriverName}} {{.Host.CgroupsVersion}}"')).toBe('overlay v2')
})

test('Docker runs containers with limits and a network of their own', async () => {
  const daemon = 'exec dockerd >/var/log/dockerd 2>&1'
  // Under other load, an emulated machine may take longer to start a command than the agent waits (runtime_unavailable).
  await untilSucceeds(async () => {
    const started = await client.shell('demo', 'nest', daemon, { no_hup: true })
    expect([started.status, started.body]).toEqual([202, expect.anything()])
  })
  await inBox(
    'for i in $(seq 300); do docker version >/dev/null 2>&1 && exit; sleep 1; done; tail -n 30 /var/log/dockerd; exit 1',
  )
  await inBox('busybox tar -C /img -c . | docker import - boxed')
  const asked = 'cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids.max; ip -4 addr show eth0 | grep -c 172.17'
  expect(await inBox(`docker run --rm --memory 64m --pids-limit 32 boxed sh -c '${asked}'`)).toBe(
    `${64 * 1024 ** 2}\n32\n1`,
  )
  expect(await inBox('docker info --format "{{.Driver}} {{.CgroupVersion}}"')).toMatch(/^overlay(fs|2) 2$/)
  // The box reaches a container's published port.
  await inBox(
    `docker run -d --name web -p 8081:80 boxed sh -c 'while :; do echo from the container | busybox nc -l -p 80; done'`,
  )
  await inBox(
    'for i in $(seq 60); do busybox nc 127.0.0.1 8081 </dev/null | grep "from the container" && exit; sleep 1; done; exit 1',
  )
  expect(await inBox('docker rm -f web')).toBe('web')
})

test('the box stops with its containers, and runs again', async () => {
  await inBox('podman run -d --name long boxed sleep 3000')
  expect((await client.post('/v1/projects/demo/boxes/nest/stop')).status).toBe(200)
  expect(await machine().run("find /sys/fs/cgroup -type d -name 'libpod*'; pgrep -x conmon || true")).toBe('')
  expect((await client.post('/v1/projects/demo/boxes/nest/resume')).status).toBe(200)
  expect(await inBox('podman start long && podman exec long cat /proc/1/comm')).toBe('long\nsleep')
})
