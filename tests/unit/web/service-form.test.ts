import { describe, expect, it } from '@jest/globals'
import { joinCommand } from '../../../web/src/pages/box/commands/command-words.ts'
import {
  readinessFields,
  specOfForm,
  variableLines,
  variablesOf,
} from '../../../web/src/pages/box/services/service-form.ts'

type Spec = Exclude<Parameters<typeof specOfForm>[1], null>

const formOf = (fields: Record<string, string>): FormData => {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  return form
}

const spec: Spec = {
  command: ['server'],
  env: {},
  cwd: null,
  user: null,
  port: 80,
  protocol: 'http',
  needs: ['db'],
  restart: 'always',
  readiness: { http: '/healthz', interval_seconds: 5 },
  stop_signal: 'SIGINT',
  grace_seconds: 3,
}

describe('the form of a service', () => {
  it('sends what was not edited as it was, lines and all', () => {
    const kept: Spec = {
      ...spec,
      command: ['sh', '-c', 'a\nb'],
      env: { KEY: '-----BEGIN\nline=\n-----END' },
      readiness: { command: ['sh', '-c', 'x\ny'] },
    }
    const shown = { command: joinCommand(kept.command), env: variableLines(kept.env) }
    const probe = { readiness: 'command', probe: readinessFields(kept).value.replaceAll('\n', '') }
    const sent = { ...shown, ...probe, port: '80', restart: 'always' }
    expect(specOfForm(formOf(sent), kept)).toMatchObject({
      command: kept.command,
      env: kept.env,
      readiness: { command: ['sh', '-c', 'x\ny'] },
    })
    // The format that a browser sends.
    const lines = { ...sent, command: shown.command.replaceAll('\n', '\r\n'), env: shown.env.replaceAll('\n', '\r\n') }
    expect(specOfForm(formOf(lines), kept)).toMatchObject({ command: kept.command, env: kept.env })
    const edited = { ...sent, command: "sh -c 'c\r\nd'" }
    expect(specOfForm(formOf(edited), kept)).toMatchObject({ command: ['sh', '-c', 'c\nd'], env: kept.env })
  })

  it('tells a definition, and leaves out what is empty', () => {
    const form = formOf({
      command: "perl /srv/app 'a b'",
      port: '',
      env: 'A=1\n\nB=x=y',
      readiness: 'tcp',
      restart: 'never',
    })
    expect(specOfForm(form, null)).toEqual({
      command: ['perl', '/srv/app', 'a b'],
      env: { A: '1', B: 'x=y' },
      port: null,
      restart: 'never',
      readiness: { tcp: true },
    })
  })

  it('keeps of a definition what it does not show', () => {
    const form = formOf({ command: 'server', port: '8080', readiness: 'http', probe: '/up', cwd: '/srv', user: 'app' })
    expect(specOfForm(form, spec)).toEqual({
      command: ['server'],
      env: {},
      port: 8080,
      protocol: 'http',
      cwd: '/srv',
      user: 'app',
      needs: ['db'],
      stop_signal: 'SIGINT',
      grace_seconds: 3,
      readiness: { http: '/up', interval_seconds: 5 },
    })
  })

  it('begins with the probe of the definition', () => {
    expect(readinessFields(spec)).toEqual({ kind: 'http', value: '/healthz' })
    expect(readinessFields({ ...spec, readiness: { command: ['test', '-e', '/a b'] } })).toEqual({
      kind: 'command',
      value: "test -e '/a b'",
    })
    expect(readinessFields({ ...spec, readiness: { tcp: true } }).kind).toBe('tcp')
    expect(readinessFields(null).kind).toBe('none')
  })

  it('refuses a line that sets no variable', () => {
    expect(() => variablesOf('A')).toThrow('"A" is not NAME=VALUE.')
    expect(variablesOf(variableLines({ A: ' 1', B: '' }))).toEqual({ A: ' 1', B: '' })
  })
})
