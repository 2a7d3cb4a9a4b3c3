import { type Client, createClient } from '../front/client.ts'
import type { Machine } from './machine.ts'

/**
 * Writes settings unless some exist, as an operator does before an installation. The base is busybox, because test machines cannot reach a
 * Debian archive.
 */
export async function writeSettings(machine: Machine): Promise<void> {
  await machine.run(`
    mkdir -p /etc/boxyard
    [ -e /etc/boxyard/boxyard.conf ] || printf '%s\\n' BOXYARD_BASE=busybox BOXYARD_POOL_GB=4 >/etc/boxyard/boxyard.conf`)
}

/** Installs a package with apt, after `writeSettings`. Resolves when apt ends, possibly before the service serves. */
export async function installPackage(machine: Machine, deb: string): Promise<void> {
  await writeSettings(machine)
  await machine.copyIn(deb, '/root/boxyard_new.deb')
  await machine.run(`
    DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Options::=--force-confold install /root/boxyard_new.deb
    rm /root/boxyard_new.deb`)
}

/** Resolves when agent and front serve. The API answers then, but boxes may still be starting. */
export async function untilServing(machine: Machine): Promise<void> {
  // A wait inside the machine uses less of its CPU time than polls from outside.
  await machine.until(`timeout 300 sh -c 'until curl -sS --fail ${HEALTH} >&2; do sleep 2; done'`)
  await machine.until(`systemctl is-active boxyard-agent boxyard-front && curl -sS --fail ${HEALTH}`)
}

/** Returns a client of the machine's API with its administrator token. */
export async function connectClient(machine: Machine): Promise<Client> {
  const port = await machine.reach(8080)
  const token = await machine.run('cat /var/lib/boxyard/admin.token')
  return createClient(
    () => `http://127.0.0.1:${port}`,
    () => token,
    PATIENCE_MS,
  )
}

const HEALTH = 'http://127.0.0.1:8080/healthz'
/** On a busy host, an emulated machine needs tens of seconds for work that takes the service seconds. */
const PATIENCE_MS = 300_000
