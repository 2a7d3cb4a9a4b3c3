import { describe, expect, test } from '@jest/globals'
import { boxPortOf } from '../../../web/src/terminal/box-port.ts'
import { ScreenCtrl } from '../../../web/src/terminal/screen-ctrl.ts'

describe('the Ctrl key of the screen', () => {
  test.each([
    ['c', '\u0003'],
    ['C', '\u0003'],
    ['[', '\u001b'],
    [' ', '\u0000'],
    ['_', '\u001f'],
  ])('makes %j a control character, once', (typed, sent) => {
    const ctrl = new ScreenCtrl()
    expect(ctrl.apply(typed)).toBe(typed)
    ctrl.toggle()
    expect(ctrl.apply(typed)).toBe(sent)
    expect(ctrl.apply(typed)).toBe(typed)
  })

  test('waits past text that has no control character, and is let go by a second press', () => {
    const ctrl = new ScreenCtrl()
    const heard: boolean[] = []
    ctrl.watch(() => heard.push(ctrl.isHeld))
    ctrl.toggle()
    for (const text of ['ü', 'ab', '1', '\u001b[A']) expect(ctrl.apply(text)).toBe(text)
    expect(ctrl.isHeld).toBe(true)
    ctrl.toggle()
    expect(ctrl.apply('c')).toBe('c')
    expect(heard).toEqual([true, false])
  })
})

describe('an address in the output of a box', () => {
  test.each([
    ['http://localhost:5173/app?x=1#y', { port: 5173, path: '/app?x=1#y' }],
    ['http://LOCALHOST./', { port: 80, path: '/' }],
    ['http://127.0.0.1', { port: 80, path: '/' }],
    ['http://127.1:99/', { port: 99, path: '/' }],
    ['https://127.8.9.1/', { port: 443, path: '/' }],
    ['http://0.0.0.0:8000/', { port: 8000, path: '/' }],
    ['http://[::1]:3000/', { port: 3000, path: '/' }],
    ['http://[::]:3000/', { port: 3000, path: '/' }],
    ['http://0x7f000001:1/', { port: 1, path: '/' }],
    ['http://app.localhost:3000/', { port: 3000, path: '/' }],
    ['http://localhost.example.test/', null],
    ['http://128.0.0.1/', null],
    ['https://example.test/', null],
  ])('%s', (address, port) => {
    expect(boxPortOf(address)).toEqual(port)
  })
})
