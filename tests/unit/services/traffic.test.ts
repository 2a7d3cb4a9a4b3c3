import { describe, expect, test } from '@jest/globals'
import { targetOfBox } from '../../../agent/core/services/traffic.ts'
import { switched } from '../../helpers/services/records.ts'

describe('the requests to a box', () => {
  test('go to the active version of the service that has its port, and of no other', () => {
    const records = [switched()]
    expect(targetOfBox({ id: 'box_a', port: 8080 }, records).port).toBe(49_152)
    expect(targetOfBox({ id: 'box_a', port: null }, records).port).toBe(49_152)
    expect(targetOfBox({ id: 'box_a', port: 9000 }, records)).toEqual({ boxId: 'box_a', port: 9000 })
    expect(targetOfBox({ id: 'box_a', port: 8080 }, [])).toEqual({ boxId: 'box_a', port: 8080 })
  })
})
