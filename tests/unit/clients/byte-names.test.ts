import { describe, expect, test } from '@jest/globals'
import fc from 'fast-check'
import { lineOf } from '../../../cli/ssh/box-files.ts'
import { bytesOfText, isText, pathFields, pathOf, textOfBytes } from '../../../sdk/typescript/src/byte-names.ts'
import { check } from '../../helpers/fairness/check.ts'

describe('names of any bytes', () => {
  const anyBytes = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 40 }),
    fc
      .array(fc.constantFrom('a', '\u00fc', '\u20ac', '\u{1f600}', '\ufffd', '\ufeff'), { minLength: 1 })
      .chain((parts) =>
        fc
          .uint8Array({ maxLength: 5 })
          .map((rest) => new Uint8Array([...new TextEncoder().encode(parts.join('')), ...rest])),
      ),
  )

  test('become text and the same bytes again, so that no two are one', async () => {
    await check(
      fc.property(anyBytes, (bytes) => expect([...bytesOfText(textOfBytes(bytes))]).toEqual([...bytes])),
      300,
    )
  })

  test('are the text that they are where they are UTF-8', async () => {
    await check(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect([textOfBytes(new TextEncoder().encode(text)), isText(text)]).toEqual([text, true])
      }),
      300,
    )
  })

  test('are named by base64 in requests and answers where they are not', () => {
    const path = textOfBytes(Buffer.from('/a\xe9/\xed\xb2\x80', 'latin1'))
    const fields = pathFields(path)
    expect(fields).toEqual({ path_base64: Buffer.from('/a\xe9/\xed\xb2\x80', 'latin1').toString('base64') })
    expect(pathOf({ path: '?', path_base64: 'path_base64' in fields ? fields.path_base64 : null })).toBe(path)
    expect(pathFields('/\u00e9')).toEqual({ path: '/\u00e9' })
  })

  test('are arguments of a command by a shell, which makes them from octal digits', () => {
    const name = textOfBytes(Buffer.from("/a'\xe9\n", 'latin1'))
    expect(lineOf(['touch', '/a'])).toEqual(['touch', '/a'])
    expect(lineOf(['touch', '-c', name])).toEqual([
      ...['sh', '-c', `a2=$(printf '\\057\\141\\047\\351\\012.'); a2=\${a2%.}; exec "\${1}" "\${2}" "$a2"`],
      ...['sh', 'touch', '-c', ''],
    ])
  })
})
