import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { buildTerminalGate, candidatePaths } from '../../../agent/drivers/exec/terminal-gate.ts'

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(`${tmpdir()}/boxyard-gate-`)
})
afterEach(() => {
  rmSync(directory, { recursive: true, force: true })
})

describe('a gate, where there is no terminal to wait for', () => {
  const pass = (command: string[], path: string): SpawnSyncReturns<string> => {
    const gate = `${directory}/gate`
    const [program = ''] = command
    writeFileSync(gate, buildTerminalGate({ program, candidates: candidatePaths(program, path) }, process.arch))
    chmodSync(gate, 0o755)
    return spawnSync(gate, command, { encoding: 'utf8', env: { PATH: path, A: 'b c', EMPTY: '' }, cwd: directory })
  }

  test('becomes the program, with its arguments and environment', () => {
    const outcome = pass(['sh', '-c', 'echo "$0|$1|$2|$A|$EMPTY"; exit 7', 'name', '', 'x y'], '/nowhere:/usr/bin:/bin')
    expect(outcome).toMatchObject({ status: 7, stdout: 'name||x y|b c|\n', stderr: '' })
  })

  test('takes the first program that can be started', () => {
    writeFileSync(`${directory}/tool`, 'no program', { mode: 0o644 })
    writeFileSync(`${directory}/mine`, '#!/bin/sh\necho mine "$0"\n', { mode: 0o755 })
    expect(pass(['mine'], '/nowhere:')).toMatchObject({ status: 0, stdout: 'mine ./mine\n' })
    expect(pass([`${directory}/mine`], '')).toMatchObject({ status: 0, stdout: `mine ${directory}/mine\n` })
    expect(pass(['tool'], `/nowhere:${directory}:/bin`)).toMatchObject({
      status: 126,
      stderr: 'boxyard: tool: cannot be started\n',
    })
  })

  test.each([['none'], ['/nowhere/none'], ['/etc/passwd/none'], ['']])('reports the missing program: %j', (program) => {
    const stderr = `boxyard: ${program}: not found\n`
    expect(pass([program], '/bin:/usr/bin')).toMatchObject({ status: 127, stdout: '', stderr })
  })
})

test('a terminal that cannot be had for want of descriptors leaves nothing', () => {
  const script = `
    import fs from 'node:fs'
    import { openTerminal } from '${new URL('../../../agent/drivers/exec/terminal.ts', import.meta.url).pathname}'
    const open = () => openTerminal(process.argv[1], { args: ['x'], env: ['PATH=/bin'] })
    open().close()
    const told = []
    const filled = []
    for (let free = 0; free < 12; free++) {
      try {
        for (;;) filled.push(fs.openSync('/dev/null'))
      } catch {}
      for (let n = 0; n < free; n++) fs.closeSync(filled.pop())
      let isOpen = false
      try {
        open().close()
        isOpen = true
      } catch {}
      let left = 0
      try {
        for (; left < 100; left++) filled.push(fs.openSync('/dev/null'))
      } catch {}
      told.push([isOpen, free - left])
    }
    console.log(JSON.stringify({ told, files: filled.splice(0).forEach(fs.closeSync) ?? fs.readdirSync(process.argv[1]) }))
  `
  const node = [process.execPath, '--input-type=module', '-e', script, directory]
  const { stdout, stderr } = spawnSync('sh', ['-c', 'ulimit -n 200; exec "$@"', 'sh', ...node], { encoding: 'utf8' })
  expect(stderr).toBe('')
  const { told, files } = JSON.parse(stdout) as { told: [boolean, number][]; files: string[] }
  expect(told.map(([isOpen]) => isOpen)).toEqual(expect.arrayContaining([false, true]))
  expect(told.map(([, lost]) => lost)).toEqual(told.map(() => 0))
  expect(files).toEqual([])
})

test('a gate that there is no room for leaves no file', () => {
  const script = `
    import { openTerminal } from '${new URL('../../../agent/drivers/exec/terminal.ts', import.meta.url).pathname}'
    try {
      openTerminal(process.argv[1], { args: ['x'.repeat(255)], env: ['PATH=/bin:/usr/bin:/sbin:/opt/bin'] })
    } catch ({ code }) {
      console.log(code)
    }
  `
  const node = [process.execPath, '--input-type=module', '-e', script, directory]
  // The shell limits files to 512 or 1,024 bytes.
  const limited = ['-c', 'trap "" XFSZ; ulimit -f 1; exec "$@"', 'sh', ...node]
  expect(spawnSync('sh', limited, { encoding: 'utf8' })).toMatchObject({ stderr: '', stdout: 'EFBIG\n' })
  expect(readdirSync(directory)).toEqual([])
})
