import { describe, expect, it } from '@jest/globals'
import { NO_OUTPUT, withOutput, withoutEscapes } from '../../../web/src/pages/box/commands/output-log.ts'

describe('output of a command', () => {
  it('is one block until the other stream writes', () => {
    const log = withOutput(withOutput(NO_OUTPUT, [{ stream: 'stdout', text: 'a' }]), [
      { stream: 'stdout', text: 'b' },
      { stream: 'stderr', text: 'c' },
      { stream: 'stdout', text: 'd' },
    ])
    expect(log.blocks.map(({ stream, text }) => `${stream} ${text}`)).toEqual(['stdout ab', 'stderr c', 'stdout d'])
    expect(new Set(log.blocks.map(({ id }) => id)).size).toBe(3)
    expect(log.isCut).toBe(false)
  })

  it('keeps its end', () => {
    const log = withOutput(NO_OUTPUT, [
      { stream: 'stderr', text: 'gone' },
      { stream: 'stdout', text: `${'x'.repeat(128 * 1024)}end` },
    ])
    expect(log.isCut).toBe(true)
    expect(log.blocks).toHaveLength(1)
    expect(log.blocks[0]?.text).toHaveLength(128 * 1024)
    expect(log.blocks[0]?.text.endsWith('xend')).toBe(true)
  })

  it('keeps its last lines', () => {
    const log = withOutput(NO_OUTPUT, [
      { stream: 'stderr', text: 'gone\n' },
      { stream: 'stdout', text: 'y\n'.repeat(3000) },
    ])
    expect(log.isCut).toBe(true)
    expect(log.blocks.map(({ text }) => text)).toEqual(['y\n'.repeat(2000)])
  })

  it('keeps its last blocks, where the streams write in turn', () => {
    const more = Array.from({ length: 3001 }, (_, index) => ({
      stream: index % 2 === 0 ? ('stdout' as const) : ('stderr' as const),
      text: index === 3000 ? 'end' : 'x',
    }))
    const log = withOutput(withOutput(NO_OUTPUT, more.slice(0, 400)), more.slice(400))
    expect(log.blocks).toHaveLength(500)
    expect(log.blocks.at(-1)?.text).toBe('end')
    expect(log.isCut).toBe(true)
    expect(withOutput(NO_OUTPUT, more.slice(0, 500))).toMatchObject({ isCut: false, blocks: { length: 500 } })
  })

  it('is shown without what is for terminals', () => {
    expect(withoutEscapes('\u001b[1;31mred\u001b[0m \u001b]0;title\u0007ok')).toBe('red ok')
  })
})
