// One vitest configuration for every package: workspace packages resolve to their TypeScript source.
import { defaultServerConditions } from 'vite';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  ssr: { resolve: { conditions: ['@blockwright/source', ...defaultServerConditions] } },
  test: {
    include: ['test/**/*.test.ts'],
    execArgv: ['--conditions=@blockwright/source'], // inherited by workers and import.meta.resolve
    testTimeout: 60_000,
  },
});
export default config;
