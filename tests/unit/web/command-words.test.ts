import { describe, expect, it } from '@jest/globals'
import { commandText, joinCommand, splitCommand } from '../../../web/src/pages/box/commands/command-words.ts'

describe('the words of a command line', () => {
  it.each([
    ['', []],
    ['  node  server.js ', ['node', 'server.js']],
    [`sh -c 'echo "a  b"; exit'`, ['sh', '-c', 'echo "a  b"; exit']],
    [String.raw`a\ b "c\"d" '' e''f`, ['a b', 'c"d', '', 'ef']],
  ])('are split as a shell does: %j', (line, words) => {
    expect(splitCommand(line)).toEqual(words)
  })

  it('are told to have an open quote', () => {
    expect(() => splitCommand("echo 'a")).toThrow('Missing closing quote')
  })

  it('come back from a line that was made of them', () => {
    const words = ['/bin/sh', '-c', `it's "so" $HOME \\ x`, '', 'a b', 'plain']
    expect(splitCommand(joinCommand(words))).toEqual(words)
  })

  it('are the line alone where a shell runs it', () => {
    expect(commandText(['/bin/sh', '-c', 'ls | wc'])).toBe('ls | wc')
    expect(commandText(['ls', 'a b'])).toBe("ls 'a b'")
  })
})
