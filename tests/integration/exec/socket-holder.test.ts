import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { constants, tmpdir } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { buildSocketHolder } from '../../../agent/drivers/exec/socket-holder.ts'
import { closeFd } from '../../../agent/lib/syscalls/descriptors.ts'
import { acceptNow, openUnixSocket, peerUserOf, startListening } from '../../../agent/lib/syscalls/sockets.ts'

let home = ''
let socket = 0
beforeEach(() => {
  home = mkdtempSync(`${tmpdir()}/boxyard-holder-`)
  socket = openUnixSocket()
})
afterEach(() => {
  closeFd(socket)
  rmSync(home, { recursive: true, force: true })
})

function hold(directory = `${home}/ssh`): ChildProcess {
  const path = `${home}/holder`
  writeFileSync(path, buildSocketHolder({ directory, path: `${directory}/agent` }, process.arch), { mode: 0o755 })
  return spawn(path, { stdio: ['pipe', 'pipe', socket] })
}

async function exitCode(child: ChildProcess): Promise<unknown> {
  const [code, signal] = await once(child, 'exit')
  return code ?? signal
}

test('a holder names the socket for its user alone, and removes the name when its input ends', async () => {
  const child = hold()
  const exited = exitCode(child)
  expect(String((await once(child.stdout as NodeJS.EventEmitter, 'data'))[0])).toBe('\n')
  expect((statSync(`${home}/ssh`).mode & 0o7777).toString(8)).toBe('700')
  expect((statSync(`${home}/ssh/agent`).mode & 0o7777).toString(8)).toBe('600')
  startListening(socket, 1)
  const client = connect(`${home}/ssh/agent`)
  await once(client, 'connect')
  const accepted = acceptNow(socket)
  expect(accepted).not.toBeNull()
  if (accepted !== null) {
    expect(peerUserOf(accepted)).toBe(process.getuid?.())
    closeFd(accepted)
  }
  client.destroy()
  child.stdin?.end()
  expect(await exited).toBe(0)
  expect(existsSync(`${home}/ssh`)).toBe(false)
})

test('a holder takes no signal that ends a box, so that the name does not stay', async () => {
  const child = hold()
  const exited = exitCode(child)
  await once(child.stdout as NodeJS.EventEmitter, 'data')
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'] as const) child.kill(signal)
  await sleep(100)
  expect(child.exitCode ?? child.signalCode).toBeNull()
  child.stdin?.end()
  expect(await exited).toBe(0)
})

test('a holder that cannot make the name leaves nothing, and exits with the reason', async () => {
  expect(await exitCode(hold(`${home}/none/ssh`))).toBe(constants.errno.ENOENT)
  writeFileSync(`${home}/file`, '')
  expect(await exitCode(hold(`${home}/file/ssh`))).toBe(constants.errno.ENOTDIR)
  mkdirSync(`${home}/ssh`)
  expect(await exitCode(hold())).toBe(constants.errno.EEXIST)
  rmSync(`${home}/ssh`, { recursive: true })
  // Longer than a socket address can be.
  const long = `${home}/${'d'.repeat(120)}`
  expect(await exitCode(hold(long))).toBe(constants.errno.EINVAL)
  expect(existsSync(long)).toBe(false)
})
