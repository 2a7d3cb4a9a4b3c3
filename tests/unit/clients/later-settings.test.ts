import { expect, test } from '@jest/globals'
import { goesOn } from '../../../cli/verbs/box.ts'
import { newBoxFrom } from '../../../cli/verbs/box-settings.ts'

test.each([
  [{ cpus: '1', ramMb: '2g', data: '{"config":{"cpus":2}}' }, []],
  [{ port: '3000', auth: 'public', cpus: '1' }, ['--port 3000', '--auth public']],
  [{ wake: true, idleStop: '30 m' }, ['--wake', "--idle-stop '30 m'"]],
  [
    { wake: false, idleStop: 'never', grace: '5s', protocol: 'h2c' },
    '--protocol h2c,--no-wake,--idle-stop never,--grace 5s'.split(','),
  ],
  [{ data: '{"port":81,"base":"x"}', auth: 'token' }, ['--auth token', `--data '{"port":81}'`]],
])('of %j, %j is set after the box is made', (flags, later) => {
  expect(newBoxFrom(flags).later).toEqual(later)
  expect(Object.keys(newBoxFrom(flags).changed).length > 0).toBe(later.length > 0)
})

test('who interrupts is told what is not set, and what sets it', () => {
  const told = 'boxyard: the service still creates web. Run boxyard wait web, or boxyard rm web'
  expect(goesOn('web', [])).toBe(told)
  expect(goesOn('web', ['--port 80', '--wake'])).toBe(
    `${told}\nboxyard: not set: --port, --wake. To set: boxyard wait web && boxyard update web --port 80 --wake`,
  )
})
