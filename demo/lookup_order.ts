// Looks up an order in data/orders.csv and adds up its items.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Tool } from '../.beeuni/beeuni.d.ts'

export default {
  description: 'Look up an order by id. Returns its status, carrier, items and total.',
  parameters: {
    type: 'object',
    properties: {
      id: { type: 'string', description: 'The order id, e.g. "A-1042"' },
    },
    required: ['id'],
  },
  async execute(args, context) {
    const text = await readFile(join(context.directory, 'data/orders.csv'), 'utf8')
    const [head, ...lines] = text.trim().split('\n').map((line) => line.split(','))
    const rows = lines.map((line) => Object.fromEntries(line.map((cell, column) => [head[column], cell])))
    const items = rows.filter((row) => row.id === args.id)
    if (items.length === 0) {
      const known = [...new Set(rows.map((row) => row.id))].join(', ')
      throw new Error(`There is no order ${args.id}. Known orders: ${known}.`)
    }
    const total = items.reduce((sum, row) => sum + Number(row.quantity) * Number(row.unit_price), 0)
    return {
      id: args.id,
      status: items[0].status,
      carrier: items[0].carrier,
      items: items.map((row) => `${row.quantity} × ${row.item}`),
      total: total.toFixed(2),
    }
  },
} satisfies Tool<{ id: string }>
