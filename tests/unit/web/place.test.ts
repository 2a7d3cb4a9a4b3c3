import { describe, expect, it } from '@jest/globals'
import {
  childOf,
  nameOfPlace,
  parentOf,
  parentsOf,
  placeOf,
  placeQuery,
  placeSearch,
  targetOf,
} from '../../../web/src/pages/box/files/place.ts'

const at = (path: string) => placeOf({ path })
const entry = (path: string, base64: string | null = null) => ({ path, path_base64: base64 })

describe('a path of a box', () => {
  it('is the root where the address names none, or one that is not absolute', () => {
    expect(placeOf({}).text).toBe('/')
    expect(placeOf({ path: 'etc' }).text).toBe('/')
  })

  it('leads to its entries and from its directories', () => {
    const place = childOf(childOf(at('/'), entry('srv')), entry('ü.txt'))
    expect(place).toEqual({ text: '/srv/ü.txt', base64: null })
    expect(parentsOf(place).map(({ text }) => text)).toEqual(['/', '/srv', '/srv/ü.txt'])
    expect(parentOf(place).text).toBe('/srv')
    expect(parentOf(at('/')).text).toBe('/')
    expect(nameOfPlace(place)).toBe('ü.txt')
    expect(nameOfPlace(at('/'))).toBe('/')
  })

  it('keeps the bytes of a name that is not UTF-8, in requests and addresses', () => {
    const place = childOf(at('/tmp'), entry('a\uFFFD', btoa('a\xff')))
    expect(place).toEqual({ text: '/tmp/a\uFFFD', base64: btoa('/tmp/a\xff') })
    expect(placeQuery(place)).toEqual({ path_base64: btoa('/tmp/a\xff') })
    const search = placeSearch(childOf(place, entry('b')))
    expect(search).toEqual({ path64: btoa('/tmp/a\xff/b') })
    expect(placeOf({ path64: btoa('/tmp/a\xff/b') }).text).toBe('/tmp/a\uFFFD/b')
    expect(parentOf(place)).toEqual({ text: '/tmp', base64: null })
  })

  it('follows a link from its directory', () => {
    expect(targetOf(at('/bin'), 'usr/bin').text).toBe('/usr/bin')
    expect(targetOf(at('/a/b/link'), '../../c/./d').text).toBe('/c/d')
    expect(targetOf(at('/a/link'), '/etc').text).toBe('/etc')
    expect(targetOf(at('/link'), '../..').text).toBe('/')
  })
})
