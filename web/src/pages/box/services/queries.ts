import { queryOptions } from '@tanstack/react-query'
import { api } from '../../../api/client.ts'
import type { Ref, Service } from '../../../api/records.ts'
import { sortNaturally } from '../../../ui/natural.ts'

/** The services of a box, in natural order of names. */
export const servicesQuery = ({ project, name }: Ref) =>
  queryOptions({
    queryKey: ['services', project, name],
    queryFn: async ({ signal }) => {
      const services: Service[] = []
      const input = { path: { project, name }, query: { max_results: 1000 }, signal }
      for await (const service of api().list('listServices', input)) services.push(service)
      return sortNaturally(services, (service) => service.name)
    },
  })

export const serviceQuery = ({ project, name }: Ref, service: string) =>
  queryOptions({
    queryKey: ['services', project, name, service],
    queryFn: ({ signal }) => api().call('getService', { path: { project, name, service }, signal }),
  })
