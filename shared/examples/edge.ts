import { box } from './boxes.ts'
import { service } from './services.ts'

const published = { ...box, port: 3000, published_domains: ['shop.example.org'] }

/** Examples of the operations on domains and ports. */
export const EDGE_EXAMPLES = {
  publishBox: { body: { domains: ['shop.example.org'], port: 3000 }, response: published },
  unpublishBox: { body: { domains: ['shop.example.org'] }, response: { ...published, published_domains: [] } },
  createUrlTicket: {
    body: { url: 'https://web--demo.boxes.example.org/docs' },
    response: {
      url: 'https://sign-in.boxes.example.org/?host=web--demo.boxes.example.org&ticket=<shown once>&target=%2Fdocs',
      expires_at: '2026-11-20T08:16:30.000Z',
    },
  },
  openPort: {},
  publishService: {
    body: { domains: ['api.example.org'] },
    response: { ...service, published_domains: ['api.example.org'] },
  },
  unpublishService: { body: { domains: ['api.example.org'] }, response: service },
}
